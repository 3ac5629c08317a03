/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge.h - one report from those of several ranks or hosts (`trace merge`).
 *
 * Ids of processes and texts are assigned anew, windows are renumbered, times are converted to the
 * clock of the first report (hosts.h); all else is copied, block by block. A Merged entry describes
 * each report. Memory: what edges.h says, the texts that differ, what contents.h keeps of one
 * report at a time, and some KiB for each report.
 *
 *   merge_peek() and then merge_survey() of each report, in the same order; merge_align();
 *   merge_begin(); merge_copy() of each report; merge_end(); merge_release()
 *
 * To write each report by itself, with the times of the common clock (`trace merge --separate`),
 * set `is_separate` before the first step, and after merge_align() do merge_begin_one(),
 * merge_copy() and merge_end() of each report.
 *
 * Each report is opened anew for each step, so that no limit of descriptors is met. Functions
 * return 0; -EBADMSG with a cause in *ret_cause if the report cannot be merged; or another negative
 * errno. One thread; allocates; blocks on the disk.
 */
#ifndef READER_MERGE_MERGE_H
#define READER_MERGE_MERGE_H

#include <stdio.h>

#include "reader/base/pool.h"
#include "reader/file/append.h"
#include "reader/merge/edges.h"
#include "reader/merge/hosts.h"

#define MERGE_INPUTS_MAX 32000u

struct merge_input {
	char *name; /* of the file, without its folder */
	Libtrace__Session *session;
	Libtrace__SessionDetails *details; /* of the first report, or of each; NULL = none */
	uint64_t bytes;                    /* size of the file, which may not change meanwhile */
	uint32_t host;
	int64_t first_ns, last_ns; /* range of its times, in its own clock; first > last: none */
	bool complete;
};

struct merge {
	struct merge_input *inputs;
	uint32_t count, capacity;
	uint32_t surveyed;
	struct hosts hosts;
	struct edges edges;
	bool is_separate;
	char cause[500]; /* why the last report cannot be merged */

	/* the report that is written */
	FILE *out;
	struct append append;
	struct pool texts;
	struct map text_ids; /* text in `texts` -> id */
	uint32_t last_text, last_process;
	uint64_t last_window;
	struct buffer metric_names; /* table of names in all blocks with results */
};

/* Free all that it holds. */
void merge_release(struct merge *m);

/* Read the session of the next report. */
int merge_peek(struct merge *m, const struct report *r, const char *name, const char **ret_cause);

/* Read the next report for its clock, its messages and what is missing in it. */
int merge_survey(struct merge *m, const struct report *r, const char **ret_cause);

/* Align the clocks. */
int merge_align(struct merge *m);

/* Write the session and the descriptions of all reports. `out` is kept until merge_end(). */
int merge_begin(struct merge *m, FILE *out);

/* Begin a report that contains the report `index` only: its times and session start are those that
 * the merged report would have, and its Merged entry describes its clock and those of the hosts
 * before it. */
int merge_begin_one(struct merge *m, uint32_t index, FILE *out);

/* Copy a report, by its index. */
int merge_copy(struct merge *m, uint32_t index, const struct report *r, const char **ret_cause);

/* Write what is left. */
int merge_end(struct merge *m);

/* Return the id of a text in the merged report; 0 = out of memory or of ids. */
uint32_t merge_text(struct merge *m, const char *text, size_t bytes, bool *ret_is_new);

/* Write the sealed blocks, if there are enough of them or `all`. */
int merge_flush(struct merge *m, bool all);

#endif
