/* SPDX-License-Identifier: Apache-2.0 */
/*
 * what_if.c - `trace what-if`: runs the replay of the Python package trace_tools.
 */
#include <errno.h>
#include <unistd.h>

#include "reader/cli/commands.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"
#include "reader/cli/base/python.h"

/* Return the number of FILEs: the first argument, and those after it that name a file. */
static int files_count(const struct options *o)
{
	int count = o->argc > 0;
	while (count < o->argc && !access(o->argv[count], F_OK))
		count++;
	return count;
}

int command_what_if(const struct options *o)
{
	struct python_arguments a = {0};
	const int files = files_count(o);
	if (!files || (o->argc == files && !o->value[OPT_what_if_rank])) {
		cli_error("expected FILE and changes, such as 'kernel gemm* x0.5', or FILE and "
			  "--rank; see 'trace help what-if'");
		return STATUS_FAILED;
	}
	int error = python_add_options(&a, o);
	for (int i = 0; !error && i < o->argc; i++)
		error = python_add(&a, "%s%s", i < files ? "--file=" : "--change=", o->argv[i]);
	if (error) {
		cli_error("out of memory");
		return STATUS_FAILED;
	}
	return python_become("what-if", &a);
}
