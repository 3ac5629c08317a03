/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select.h - the options --nvtx-include, --nvtx-exclude, --filter-time and --callchains of commands
 * that read reports.
 *
 * select_by() and select_callchains() store the selection; every report that is opened after it
 * gets this selection (selection.h). Global state; one thread.
 */
#ifndef READER_CLI_BASE_SELECT_H
#define READER_CLI_BASE_SELECT_H

#include <stdbool.h>

#include "reader/cli/base/input_state.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"

/* The options of a command that select events. */
struct select_options {
	enum option_id include, exclude; /* repeated expressions are joined by newlines */
	enum option_id
		scope; /* "process": ranges of all threads count, not only of the event's thread */
	const char *window; /* NULL = no limit of time */
	bool events_only;   /* selection.h */
};

/* Store the selection that the options request. Returns STATUS_OK, or STATUS_FAILED after a
 * message. */
int select_by(const struct options *o, const struct select_options *by);

/* Store which frames of callchains to read: "merged", "native" or "python"; NULL = merged. */
void select_callchains(const char *view);

/* Parse the NVTX filter alone, for results of Nsight Compute. *ret_filter is NULL if no expression
 * is given; otherwise it lives as long as the program. Returns STATUS_OK, or STATUS_FAILED after a
 * message. */
int select_nvtx(const struct options *o, enum option_id include, enum option_id exclude,
	const struct nvtx_filter **ret_filter);

/* Return the NVTX filter that select_by() stored; NULL = none. */
const struct nvtx_filter *select_filter(void);

/* Print a note, once per file, if the report was read and no event was selected. */
void select_note_empty(const struct cli_report *r);

/* Apply the stored selection to a report that was just opened. Returns STATUS_OK, or STATUS_FAILED
 * after a message. */
int select_report(struct cli_report *r);

#endif
