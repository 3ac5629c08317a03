/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.h - commands that are Python programs: the package trace_tools of reader/python, which
 * lies in the folder of libtrace.so.
 *
 * The interpreter is the one that LIBTRACE_PYTHON names, else that of the environment which
 * `scripts/setup --python` makes beside the command, else python3. One thread.
 */
#ifndef READER_CLI_BASE_PYTHON_H
#define READER_CLI_BASE_PYTHON_H

#include "reader/cli/base/options.h"

/* The arguments of the program: grows by python_add(). */
struct python_arguments {
	char **list; /* NULL behind the last one */
	int count, room;
};

/* Adds a copy of a text made by `format`. 0 or -ENOMEM. */
__attribute__((format(printf, 2, 3))) int python_add(
	struct python_arguments *a, const char *format, ...);

/* Adds --NAME or --NAME=VALUE for each option of `o` that was given; of one that may be repeated,
 * one for each value. 0 or -ENOMEM. */
int python_add_options(struct python_arguments *a, const struct options *o);

/* Becomes what `python3 -m trace_tools COMMAND ARGUMENT...` is, which finds this program in
 * LIBTRACE_COMMAND. Returns STATUS_FAILED after a message when that is not possible. */
int python_become(const char *command, const struct python_arguments *a);

#endif
