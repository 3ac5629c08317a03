/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_state.h - the state of a report that a command reads, and the messages about it.
 *
 * A leaf: who opens a report is input.h. One thread.
 */
#ifndef READER_CLI_BASE_INPUT_STATE_H
#define READER_CLI_BASE_INPUT_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/nvtx/deferred.h"
#include "reader/report/contents.h"
#include "reader/report/selection.h"

#define INPUT_PROGRESS_BYTES (32u << 20) /* between two updates of the progress line */

/* A report and its problems: the first ones are printed, the others counted. */
struct cli_report {
	struct report report;
	struct selection selection; /* of the report, where options ask for one; so the struct may
				       not move */
	struct nvtx_deferred deferred; /* added to the report by cli_open_events() */
	const char *path;
	uint64_t problems;
	uint64_t done_bytes; /* of this pass, for the progress line */
	uint64_t next_shown;
	bool quiet; /* problems are counted, not printed */
};

/* Print and count a problem. For contents_visitor: `user` is the struct cli_report; offset 0 = the
 * problem has no position in the file. */
void cli_problem(void *user, uint64_t offset, const char *cause);

/* Update the progress line on a terminal. For contents_visitor, `user` as above. Returns 0. */
int cli_progress(void *user, const struct report_block *block);

/* Remove the progress line. */
void cli_progress_end(const struct cli_report *r);

/* After a whole pass: print a note if the report has no end marker, so that what was read is not
 * all. */
void cli_note_cut_off(const struct cli_report *r, const struct contents *c);

/* Print that reading failed by `error`, a negative errno. Returns STATUS_FAILED. */
int cli_failed(const struct cli_report *r, int error);

#endif
