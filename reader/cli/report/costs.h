/* SPDX-License-Identifier: Apache-2.0 */
/*
 * costs.h - the largest costs of a report: rows of its tables whose times are their own, for the
 * text and the page.
 *
 * One thread; allocates.
 */
#ifndef READER_CLI_REPORT_COSTS_H
#define READER_CLI_REPORT_COSTS_H

#include <stdio.h>

#include "reader/cli/database/rows.h"

#define COSTS_SHOWN 3u
#define COSTS_WAITS 64u

struct cost {
	char *name, *title; /* of the row, of its table; NULL = none */
	const char *table;  /* name of the report */
	int64_t ns, count;  /* count: -1 = unknown */
	bool waits;         /* always: sleeps, waits for threads or processes */
	bool may_wait;      /* what it reads or writes may be a pipe or the network; MPI */
};

/* Zeros = none. Of the waits, only the longest counts: threads that wait for work take more time
 * than any work does. NVTX ranges count if nothing else does, since they contain the others.
 * If there are CPU samples, they say what computed, so calls that may have waited do not count
 * (`computed`). */
struct costs {
	struct cost work[COSTS_SHOWN], computed[COSTS_SHOWN],
		ranges[COSTS_SHOWN]; /* the largest first */
	bool sampled;
	struct cost waits[COSTS_WAITS]; /* all but the first are not shown */
};

/* Add a row of a report. If memory is short, the row has no name. */
void costs_add(struct costs *c, const struct sql_report *report, const char *title,
	const struct sql_columns *columns, const struct sql_value *row);

/* Return the n-th largest cost, from 0 to COSTS_SHOWN - 1; NULL = there are no more. */
const struct cost *costs_at(const struct costs *c, size_t n);

/* Return the n-th longest wait that is left out although it is longer than a cost that is shown;
 * NULL = there are no more. */
const struct cost *costs_left_out(const struct costs *c, size_t n);
void costs_release(struct costs *c);

/* Print "3 calls", by the table "3 ranges", "3 launches"; nothing if the number is unknown. */
void cost_count_print(FILE *out, const struct cost *cost);

/* Print "1.234 ms in 3 calls, waiting". */
void cost_print(FILE *out, const struct cost *cost);

#endif
