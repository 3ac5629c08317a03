/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - the file that a command writes a report or a stream to.
 *
 * A regular file is written under a temporary name and renamed when it is complete; a device or
 * pipe is written directly. Prints the cause of failures on stderr. One thread.
 */
#ifndef READER_CLI_BASE_OUTPUT_H
#define READER_CLI_BASE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "reader/cli/base/options.h"

struct cli_output {
	FILE *file;
	char *temporary; /* NULL if it is written under its own name */
};

/* Open an output. overwrite: an existing file may be replaced. Returns false after a message; then
 * there is nothing to close. */
bool cli_output_open(struct cli_output *out, const char *name, bool overwrite);

/* Close the output and rename it to `name` if `status` is STATUS_OK, and print a note
 * (cli_wrote()); otherwise remove it. Returns `status`, or STATUS_FAILED after a message. */
int cli_output_close(struct cli_output *out, const char *name, bool overwrite, int status);

/* Return whether the regular file `name` is one of the arguments of the command (same device and
 * inode), so that writing would replace an input. Prints a message before it returns true. */
bool cli_output_is_input(const struct options *o, const char *name);

/* Print why `name` cannot be written. error: a negative errno; cause: its text. */
void cli_write_failed(const char *name, int error, const char *cause);

/* Return the width in columns: COLUMNS, else that of the terminal on standard output, else
 * `usual`. */
unsigned cli_terminal_width(unsigned usual);

#endif
