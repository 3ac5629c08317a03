/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview.h - what `trace report` says of a file before its events: who, when, the verdict, the
 * receipt; as texts, for a terminal and for the page.
 *
 * One thread; allocates.
 */
#ifndef READER_CLI_REPORT_OVERVIEW_H
#define READER_CLI_REPORT_OVERVIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "reader/cli/base/message.h"
#include "reader/cli/database/open.h"

#define OVERVIEW_ROWS_MAX 16u
#define OVERVIEW_NOTES_MAX 50u

struct overview {
	char verdict[512];
	bool complete; /* nothing is missing */
	bool is_report;
	struct {
		const char *label; /* static */
		char *value;       /* what was traced chose some of its bytes: print_text() */
	} rows[OVERVIEW_ROWS_MAX];
	size_t count;
	char *notes[OVERVIEW_NOTES_MAX]; /* "pid: text": what the tracer itself had to say */
	size_t note_count;
	uint64_t notes_left_out;
};

/* Of a report (one pass over it), or of a database. 0 or STATUS_FAILED after a message; release in
 * any case. Problems of the report are not printed. */
int overview_gather(struct overview *o, const char *file, bool no_wait);
void overview_release(struct overview *o);

#endif
