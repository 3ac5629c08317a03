/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - statistics for other commands (`trace run --stats`), and what their reports share.
 *
 * One thread.
 */
#ifndef READER_CLI_STATS_STATS_H
#define READER_CLI_STATS_STATS_H

#include <stdbool.h>
#include <stdio.h>

#include "reader/cli/base/table.h"
#include "reader/sql/views.h"
#include "reader/stats/durations.h"
#include "reader/stats/profile.h"

struct stats_form {
	const char *format;      /* NULL = table */
	const char *symbol_path; /* symbols.h; NULL = none */
	bool no_wait, no_symbols;
	enum profile_weight weight;  /* of callchain reports */
	enum profile_source source;  /* the same */
	struct cursor_filter filter; /* which calls: pid, tid and name */
	enum table_time time;
	struct sql_window window; /* .all: no window */
	const char *nvtx_window;  /* a range that is the window (window.h); NULL = none */
	uint64_t *events;         /* gets the number of events by kind (SCHEMA_KINDS); NULL = not */
	bool *results_only;  /* set, and nothing printed, where a report has results of kernels and
				no events; NULL = not */
	bool *imported_only; /* set, and nothing printed, where files were imported and no call of
				the OS runtime is there; NULL = not */
	bool kernels_only;   /* no report is about metrics of kernels (sql_open.h) */
};

/* Is this a report that stats_print() makes? Their names; NULL behind the last. */
bool stats_direct(const char *name, size_t bytes);
const char *stats_direct_at(size_t n);

/* Prints the reports of `list`, which are all such; the window of the form is none. Returns an exit
 * status; messages are on stderr. */
int stats_print(const char *file, const char *list, const struct stats_form *form, FILE *out,
	const char *out_name);

/* Says on stderr how many events a profile has left out, and why functions are not known, if any.
 */
void stats_note_left_out(const char *file, const struct profile *p);

#endif
