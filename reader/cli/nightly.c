/*
 * nightly.c - `trace nightly`: hands over to the package trace_tools, which has its own options.
 */
#include <errno.h>

#include "reader/cli/cli.h"
#include "reader/cli/python.h"

int command_nightly(const struct options *o)
{
	struct python_arguments a = {0};
	int error = 0;
	for (int i = 0; !error && i < o->argc; i++)
		error = python_add(&a, "%s", o->argv[i]);
	if (error) {
		cli_error("out of memory");
		return STATUS_FAILED;
	}
	return python_become("nightly", &a);
}
