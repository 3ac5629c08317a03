/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.c - `trace diff`: runs the comparison of the Python package trace_tools.
 */
#include <errno.h>

#include "reader/cli/commands.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"
#include "reader/cli/base/python.h"

int command_diff(const struct options *o)
{
	struct python_arguments a = {0};
	int before = o->before, error;
	bool records = o->value[OPT_diff_run] != NULL; /* and needs no files */
	if (before < 0 && o->argc == 2)
		before = 1; /* two files need no divider */
	if (!records && (before <= 0 || before >= o->argc)) {
		cli_error("expected runs of both sides, BASE... -- OTHER..., or --run twice; see "
			  "'trace help diff'");
		return STATUS_FAILED;
	}
	error = python_add_options(&a, o);
	for (int i = 0; !error && i < o->argc; i++)
		error = python_add(&a, "%s=%s", i < before ? "--base" : "--other", o->argv[i]);
	if (error) {
		cli_error("out of memory");
		return STATUS_FAILED;
	}
	return python_become("diff", &a);
}
