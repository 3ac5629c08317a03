/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.h - a file to be asked in SQL: a database is opened as it is, a report of ours, or
 * an XSpace, becomes a temporary one.
 *
 * The temporary database is of some 100 bytes per event; it lies in TMPDIR (else /var/tmp), without
 * a name while it is used. Messages go to stderr. Signals are awaited (stop.h). One thread.
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
	bool kernels_only; /* of reports of Nsight Compute no metrics */
};

/* STATUS_OK, STATUS_DAMAGED when what is there of a damaged report was opened, or STATUS_FAILED. */
int sql_file_open(struct sql *s, const char *path, const struct sql_open_form *form);

/* Says that the end of a report is missing; `user`: its struct cli_report. One of Nsight Compute is
 * damaged then. */
void sql_note_cut_off(void *user, const struct contents *c);

/* Says what of a report's results the export left out. */
void sql_note_results(const struct cli_report *r, const struct sqlite_result *result);

/* Is it a database, or an XSpace of a profiler, which becomes one: no report? */
bool sql_file_is_foreign(const char *path);

/* Says why a statement failed: `what` was it. Returns STATUS_FAILED; silent when a signal ended it,
 * which ends the program then, or when the reader of a pipe has gone. */
int sql_file_failed(const struct sql *s, const char *path, const char *what, int error);

#endif
