/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change.h - a finished report that a command adds blocks to.
 *
 *   change_open(); entries go to `append`; change_commit(); change_close()
 *
 * Nothing is changed before change_commit(), nor behind a failure of it. One thread; prints why
 * not; allocates; waits for a writer at work.
 */
#ifndef READER_CLI_BASE_CHANGE_H
#define READER_CLI_BASE_CHANGE_H

#include "reader/cli/base/input_state.h"
#include "reader/cli/base/message.h"
#include "reader/file/append.h"

struct change {
	struct cli_report r; /* for messages; its report is not open */
	struct append append;
	struct contents contents; /* of the whole report */
};

/*
 * Opens `file`, of which messages speak as `name`, and reads it. An exit status; a report that is
 * damaged, or none of ours, is not to be changed. change_close() also behind a failure.
 */
int change_open(struct change *g, const char *file, const char *name, bool no_wait);

/* Writes what was added: an exit status. what: "names", for the message of a failure. */
int change_commit(struct change *g, const char *what);
int change_failed(const struct change *g, const char *what, int error);
void change_close(struct change *g);

/*
 * A copy of a finished report under a name of its own in the folder of `output`, for change_open():
 * an exit status, and the name, which the caller frees. change_copy_end() gives it the name
 * `output`, or takes it away when `status` is not STATUS_OK.
 */
int change_copy(
	const char *report, const char *output, bool overwrite, bool no_wait, char **ret_copy);
int change_copy_end(char *copy, const char *output, bool overwrite, int status);

#endif
