/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview.h - the facts that `trace report` shows before the events of a file: processes, times,
 * the verdict, the receipt.
 *
 * They are texts, for a terminal and for the page. One thread; allocates.
 */
#ifndef READER_CLI_REPORT_OVERVIEW_H
#define READER_CLI_REPORT_OVERVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/cli/base/message.h"
#include "reader/cli/database/open.h"

#define OVERVIEW_ROWS_MAX 24u
#define OVERVIEW_NOTES_MAX 50u

struct overview {
	char verdict[512];
	bool complete; /* nothing is missing */
	bool is_report, is_xspace;
	struct {
		const char *label; /* static text; rows are in the order of their labels, with
				      what ran first */
		char *value;       /* may hold bytes that the traced program chose: print it by
				      print_text() */
	} rows[OVERVIEW_ROWS_MAX];
	size_t count;
	char *notes[OVERVIEW_NOTES_MAX]; /* "pid: text": the tracer's diagnostics */
	size_t note_count;
	uint64_t notes_left_out;
};

/* Read the overview of a report (one pass over it), of an XSpace or of a database. Problems of the
 * report are not printed. Returns 0, or STATUS_FAILED after a message; release it in both cases. */
int overview_gather(struct overview *o, const char *file, bool no_wait);

/* Add what only the database of the file contains: of a report the command and the GPUs, of a
 * database also what recorded it, when and where. Returns 0 or a negative errno; `s` has the
 * cause. */
int overview_add_database(struct overview *o, struct sql *s);
void overview_release(struct overview *o);

#endif
