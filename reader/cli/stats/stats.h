/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - statistics for other commands (`trace run --stats`), and the options that all reports
 * of `trace stats` share.
 *
 * One thread.
 */
#ifndef READER_CLI_STATS_STATS_H
#define READER_CLI_STATS_STATS_H

#include <stdbool.h>
#include <stdio.h>

#include "reader/cli/stats/document.h"
#include "reader/cli/base/table.h"
#include "reader/sql/views.h"
#include "reader/stats/durations.h"
#include "reader/stats/profile.h"

struct stats_form {
	const char *format;      /* NULL = table */
	const char *symbol_path; /* symbols.h; NULL = none */
	bool no_wait, no_symbols;
	enum profile_weight weight;  /* weight of callchain reports */
	enum profile_source source;  /* source of callchain reports */
	struct cursor_filter filter; /* selects calls by pid, tid and name */
	enum table_time time;
	struct sql_window window; /* .all = no window */
	uint64_t rows_most;       /* most rows of a table that stats_sql_print() prints; 0 = all */
	const char *nvtx_window;  /* the NVTX range that is the window (window.h); NULL = none */
	uint64_t *events;   /* receives the number of events by kind (SCHEMA_KINDS elements); NULL =
			       not wanted */
	bool *results_only; /* set, and nothing printed, if a report has results of kernels and no
			       events; NULL = not wanted */
	bool *imported_only; /* set, and nothing printed, if files were imported and there is no OS
				runtime call; NULL = not wanted */
	struct stats_document *document; /* how tables are joined in JSON */
	bool kernels_only;               /* no report uses metrics of kernels (database/open.h) */
	const char *read_by; /* SQL of the reports (database/open.h); NULL = any report */
};

/* Printed instead of a table if options select events and none is left; needs the file's name. */
#define STATS_NO_MATCH "SKIPPED: no event in %s matches the filter.\n"

/* Return whether stats_print() has this report. stats_direct_at() returns the names by index; NULL
 * after the last one. */
bool stats_direct(const char *name, size_t bytes);
const char *stats_direct_at(size_t n);

/* Print the reports of `list`, which are all reports of stats_direct(). The window of the form
 * must be unset. out_name: the name of `out` in messages. Returns an exit status, after a message
 * on stderr unless it is STATUS_OK. */
int stats_print(const char *file, const char *list, const struct stats_form *form, FILE *out,
	const char *out_name);

/* Print notes on stderr about the number of events that a profile left out, and why functions have
 * no name. `of`: " of ...", what they are left out of; "" = of everything. */
void stats_note_left_out(const char *file, const struct profile *p, const char *of);

#endif
