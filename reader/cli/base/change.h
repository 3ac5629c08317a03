/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change.h - changes to a finished report: a command appends blocks to it.
 *
 * Call change_open(), add entries to `append`, then call change_commit() and change_close(). The
 * file is unchanged before change_commit() and after a failure of it. Waits until a writer has
 * finished the report. Prints the cause of every failure on stderr; allocates. One thread.
 */
#ifndef READER_CLI_BASE_CHANGE_H
#define READER_CLI_BASE_CHANGE_H

#include "reader/cli/base/input_state.h"
#include "reader/cli/base/message.h"
#include "reader/file/append.h"

struct change {
	struct cli_report r; /* for messages; the report in it is not open */
	struct append append;
	struct contents contents; /* contents of the whole report */
};

/* Open `file`, which messages call `name`, lock it and read all of it. no_wait: do not wait for an
 * active writer. A damaged report and a file that is not one of our reports are refused. Ignores
 * SIGXFSZ from then on. Returns STATUS_OK, or STATUS_DAMAGED or STATUS_FAILED after a message. Call
 * change_close() even after a failure. */
int change_open(struct change *g, const char *file, const char *name, bool no_wait);

/* Write the added entries and drop a torn last block. what: the added things, such as "names", for
 * the message of a failure. Returns STATUS_OK, or STATUS_FAILED after a message. */
int change_commit(struct change *g, const char *what);

/* Print that `what` could not be added because of `error`, a negative errno. Returns
 * STATUS_FAILED. */
int change_failed(const struct change *g, const char *what, int error);

/* Close the file and free all memory. Entries that were not committed are lost. */
void change_close(struct change *g);

/* Copy a finished report to a temporary file in the folder of `output`, for change_open(). Returns
 * STATUS_OK and the file's name, which the caller passes to change_copy_end(); or STATUS_FAILED
 * after a message. */
int change_copy(
	const char *report, const char *output, bool overwrite, bool no_wait, char **ret_copy);

/* Rename the copy to `output` if `status` is STATUS_OK, otherwise remove it. Frees `copy`. Returns
 * `status`, or STATUS_FAILED after a message. */
int change_copy_end(char *copy, const char *output, bool overwrite, int status);

#endif
