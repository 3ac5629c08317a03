/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.h - a file opened as a database, so that it can be queried by SQL.
 *
 * A database is opened as it is; a report or an XSpace is converted to a temporary database. It
 * takes about 100 bytes per event, in TMPDIR (else /var/tmp), and is unlinked while in use.
 * Messages are printed on stderr. Signals are caught while a file is open (stop.h). One thread.
 */
#ifndef READER_CLI_DATABASE_OPEN_H
#define READER_CLI_DATABASE_OPEN_H

#include "reader/cli/base/input_state.h"
#include "reader/cli/base/message.h"
#include "reader/export/sqlite/export.h"
#include "reader/sql/connection.h"

struct sql_open_form {
	const char *symbol_path; /* symbols.h; NULL = none */
	bool no_symbols, no_wait;
	bool kernels_only;   /* do not convert the metrics of a report of Nsight Compute */
	const char *read_by; /* SQL that will read it: see export.h; NULL = any */
};

/* Open `path` as a database. Returns STATUS_OK; STATUS_DAMAGED if the report is damaged and its
 * readable part was opened; or STATUS_FAILED after a message. Unless it failed, call sql_close()
 * and then stops_end(). */
int sql_file_open(struct sql *s, const char *path, const struct sql_open_form *form);

/* Print that the end of a report is missing; `user` is its struct cli_report. This is damage in a
 * report of Nsight Compute, otherwise a note. */
void sql_note_cut_off(void *user, const struct contents *c);

/* Print notes about the results of a report that the export left out. */
void sql_note_results(const struct cli_report *r, const struct sqlite_result *result);

/* Return whether the file is a database or an XSpace, and so not a report. */
bool sql_file_is_foreign(const char *path);

/* Print why `what` failed; error: a negative errno. Prints nothing if a signal stopped the
 * statement, which then ends the program, or if the reader of a pipe has gone (-EPIPE). Returns
 * STATUS_FAILED. */
int sql_file_failed(const struct sql *s, const char *path, const char *what, int error);

#endif
