/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - reports as one SQLite database, for scripts written for `nsys export --type sqlite`.
 *
 * The tables are those of nsys_tables.def and nsys_enums.def; tables of ours (LIBTRACE_*) follow
 * events.def and hold what nsys has no column for. Times are nanoseconds since the earliest start
 * of a session. The VM id in globalTid and globalPid tells reports apart: 1, 2, 3 ...
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

#define SQLITE_REPORTS_MAX 32000u /* as many as VM and machine ids can tell apart */

struct sqlite_source {
	const struct report *report;
	struct contents_visitor visitor; /* its block and problem are called */
	void (*ended)(void *user,
		const struct contents *c); /* called when it has been read to its end; or NULL */
};

struct sqlite_job {
	const char *output;
	bool overwrite;
	enum nsys_generation generation;
	bool no_symbols;         /* write callchains as addresses */
	const char *symbol_path; /* as for symbols_init() */
	bool kernels_only;       /* of reports of Nsight Compute no metrics, sections and rules */
	const struct nvtx_filter *nvtx; /* of results to export; NULL = all */
	const struct sqlite_source *sources;
	uint32_t count;
};

/* Results of kernels in reports of Nsight Compute. */
struct results_tally {
	uint64_t results, left_out; /* left out: by the NVTX filter */
	uint64_t untimed;           /* not in the table of kernels: without a duration */
};

struct sqlite_result {
	const struct report *failed; /* the report that could not be read; NULL: the output */
	char cause[DATABASE_CAUSE_BYTES];
	uint64_t rows; /* of all tables that are filled from events and callchains */
	struct results_tally results;
	uint64_t impossible; /* calls left out because they end before they start */
};

/* Write the database. Returns 0, or a negative errno with the cause, and then leaves nothing of the
 * output. */
int sqlite_export(const struct sqlite_job *job, struct sqlite_result *ret_result);

#endif
