/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - where a command writes a report or a stream: a file that gets its name in the end,
 * or, if there is such a one, a device or pipe. One thread; prints why not.
 */
#ifndef READER_CLI_BASE_OUTPUT_H
#define READER_CLI_BASE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "reader/cli/base/options.h"

struct cli_output {
	FILE *file;
	char *temporary; /* NULL: it has its name */
};

/* false after a message. */
bool cli_output_open(struct cli_output *out, const char *name, bool overwrite);

/* Gives it its name if all went well; else nothing stays. Returns the exit status. */
int cli_output_close(struct cli_output *out, const char *name, bool overwrite, int status);

/*
 * Is the regular file `name` also one of the arguments of the command (device and inode)? It would
 * replace what is read. true after a message.
 */
bool cli_output_is_input(const struct options *o, const char *name);

/* The message; error: a negative errno. */
void cli_write_failed(const char *name, int error, const char *cause);

/* Columns of the terminal that standard output is, or of COLUMNS; `usual` where neither tells. */
unsigned cli_terminal_width(unsigned usual);

#endif
