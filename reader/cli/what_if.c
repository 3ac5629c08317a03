/* SPDX-License-Identifier: Apache-2.0 */
/*
 * what_if.c - `trace what-if`: runs the replay of the Python package trace_tools.
 */
#include <errno.h>

#include "reader/cli/commands.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"
#include "reader/cli/base/python.h"

int command_what_if(const struct options *o)
{
	struct python_arguments a = {0};
	if (o->argc < 1 || (o->argc < 2 && !o->value[OPT_what_if_rank])) {
		cli_error("expected FILE and changes, such as 'kernel gemm* x0.5', or FILE and "
			  "--rank; see 'trace help what-if'");
		return STATUS_FAILED;
	}
	int error = python_add_options(&a, o);
	for (int i = 0; !error && i < o->argc; i++)
		error = python_add(&a, "%s%s", i ? "--change=" : "--file=", o->argv[i]);
	if (error) {
		cli_error("out of memory");
		return STATUS_FAILED;
	}
	return python_become("what-if", &a);
}
