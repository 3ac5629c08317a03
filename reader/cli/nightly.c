/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nightly.c - `trace nightly` and `trace recipe`: run the Python package trace_tools, which parses
 * their options.
 */
#include <errno.h>

#include "reader/cli/commands.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"
#include "reader/cli/base/python.h"

static int hand_over(const char *command, const struct options *o)
{
	struct python_arguments a = {0};
	int error = 0;
	for (int i = 0; !error && i < o->argc; i++)
		error = python_add(&a, "%s", o->argv[i]);
	if (error) {
		cli_error("out of memory");
		return STATUS_FAILED;
	}
	return python_become(command, &a);
}

int command_nightly(const struct options *o)
{
	return hand_over("nightly", o);
}

int command_recipe(const struct options *o)
{
	return hand_over("recipe", o);
}
