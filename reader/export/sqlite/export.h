/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - reports as one SQLite database, for scripts written for `nsys export --type sqlite`.
 *
 * nsys_tables.def and nsys_enums.def define the tables of nsys. Tables of libtrace (LIBTRACE_*)
 * follow events.def and contain the values for which nsys has no column. Times are ns since the
 * earliest start of a session. The VM id in globalTid and globalPid identifies the report: 1, 2, 3
 * ...
 *
 * Reads each report twice, in file order. Memory grows with distinct texts, callchains, threads and
 * processes, not with events. One thread; allocates; writes files.
 */
#ifndef READER_EXPORT_SQLITE_EXPORT_H
#define READER_EXPORT_SQLITE_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/report/contents.h"
#include "reader/export/sqlite/database.h"
#include "reader/nvtx/filter.h"

#define SQLITE_REPORTS_MAX 32000u /* number of distinct VM and machine ids */

struct sqlite_source {
	const struct report *report;
	struct contents_visitor visitor; /* `block` and `problem` are called */
	void (*ended)(void *user,
		const struct contents *c); /* called after the report was read; may be NULL */
};

struct sqlite_job {
	const char *output;
	bool overwrite;
	enum nsys_generation generation;
	bool no_symbols;         /* write callchains as addresses */
	const char *symbol_path; /* argument of symbols_init() */
	bool kernels_only;       /* omit metrics, sections and rules of Nsight Compute reports */
	bool critical_path;      /* add the table LIBTRACE_CRITICAL_PATH */
	const char *log_events;  /* regular expression for lines of output; NULL = as recorded */
	const struct nvtx_filter *nvtx; /* results to export; NULL = all */
	/* SQL that will read the database: calls of functions and of CUDA, kernels, copies, sets,
	 * waits, messages of MPI and regions of OpenMP are left out if it does not name their
	 * tables, but for one call of CUDA; NULL = all are written. */
	const char *read_by;
	const struct sqlite_source *sources;
	uint32_t count;
};

/* Counts of kernel results in reports of Nsight Compute. */
struct results_tally {
	uint64_t results, left_out; /* `left_out`: excluded by the NVTX filter */
	uint64_t untimed;           /* left out of the table of kernels: no duration */
};

struct sqlite_result {
	const struct report *failed; /* report that could not be read; NULL = the output failed */
	char cause[DATABASE_CAUSE_BYTES];
	uint64_t rows; /* rows of all tables that contain events and callchains */
	struct results_tally results;
	uint64_t impossible; /* calls left out because they end before they start */
};

/* Write the database. Returns 0, or a negative errno with the cause, and then removes the
 * output. */
int sqlite_export(const struct sqlite_job *job, struct sqlite_result *ret_result);

#endif
