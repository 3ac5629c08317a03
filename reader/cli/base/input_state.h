/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_state.h - the state of a report that a command reads, and the messages about it.
 *
 * Separate from input.h, which opens reports, so that it depends on no other part of the commands.
 * One thread.
 */
#ifndef READER_CLI_BASE_INPUT_STATE_H
#define READER_CLI_BASE_INPUT_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/nvtx/deferred.h"
#include "reader/report/contents.h"
#include "reader/report/selection.h"

#define INPUT_PROGRESS_BYTES (32u << 20) /* bytes between two updates of the progress line */

/* A report and its problems. The first problems are printed, the others are only counted. */
struct cli_report {
	struct report report;
	struct selection selection; /* applied to the report if options ask for one; refers to the
				       report, so this struct may not move */
	struct nvtx_deferred deferred; /* events added to the report by cli_open_events() */
	const char *path;
	uint64_t problems;
	uint64_t done_bytes; /* bytes read in this pass, for the progress line */
	uint64_t next_shown;
	bool quiet; /* count problems, print none */
};

/* Print and count a problem at `offset` of the file; 0 = at no particular offset. A callback of
 * contents_visitor; `user` is the struct cli_report. */
void cli_problem(void *user, uint64_t offset, const char *cause);

/* Update the progress line if stderr is a terminal. A callback of contents_visitor; `user` is the
 * struct cli_report. Returns 0. */
int cli_progress(void *user, const struct report_block *block);

/* Remove the progress line. */
void cli_progress_end(const struct cli_report *r);

/* Print a note if the report has no end marker, so that events may be missing. Call it after a
 * whole pass, which filled `c`. */
void cli_note_cut_off(const struct cli_report *r, const struct contents *c);

/* Print that reading failed because of `error`, a negative errno. Returns STATUS_FAILED. */
int cli_failed(const struct cli_report *r, int error);

#endif
