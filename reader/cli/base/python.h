/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.h - execution of commands that are Python programs.
 *
 * The programs are in the package trace_tools of reader/python, which is installed in the folder of
 * libtrace.so. The interpreter is LIBTRACE_PYTHON, else python3 of the virtual or conda environment
 * that trace is installed in, else of the source tree's environment (`scripts/setup --python`),
 * else python3 of PATH. One thread.
 */
#ifndef READER_CLI_BASE_PYTHON_H
#define READER_CLI_BASE_PYTHON_H

#include "reader/cli/base/options.h"

/* The arguments of the program; python_add() extends the list. */
struct python_arguments {
	char **list; /* ends with NULL */
	int count, room;
};

/* Append an argument, formatted as by printf. Returns 0 or -ENOMEM. */
__attribute__((format(printf, 2, 3))) int python_add(
	struct python_arguments *a, const char *format, ...);

/* Append --NAME or --NAME=VALUE for each option of `o` that was given, once per value if the
 * option was repeated. Returns 0 or -ENOMEM. */
int python_add_options(struct python_arguments *a, const struct options *o);

/* Replace this process by `python3 -m trace_tools COMMAND ARGUMENT...`, with the path of this
 * program in LIBTRACE_COMMAND. Returns only on failure: STATUS_FAILED after a message. */
int python_become(const char *command, const struct python_arguments *a);

#endif
