/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_state.h - state of an export to SQLite: a member for each part, and data that all parts
 * read.
 *
 * Each member is written by the file that declares its type; `source`, `contents`, `symbols` and
 * `clock` by export.c. One thread.
 */
#ifndef READER_EXPORT_SQLITE_EXPORT_STATE_H
#define READER_EXPORT_SQLITE_EXPORT_STATE_H

#include <stdint.h>

#include "reader/report/contents.h"
#include "reader/export/sqlite/chains.h"
#include "reader/export/sqlite/cuda_values.h"
#include "reader/export/sqlite/database.h"
#include "reader/export/sqlite/decoded.h"
#include "reader/export/sqlite/export.h"
#include "reader/export/sqlite/files.h"
#include "reader/export/generic/log_lines.h"
#include "reader/export/sqlite/nsys_rows.h"
#include "reader/export/sqlite/nvtx_domains.h"
#include "reader/export/sqlite/own_tables.h"
#include "reader/export/sqlite/results.h"
#include "reader/export/sqlite/texts.h"
#include "reader/export/sqlite/threads.h"
#include "reader/symbols/symbols.h"

/* Times of the database are relative to the earliest start of a session. */
struct export_clock {
	uint64_t base_real_ns;  /* CLOCK_REALTIME of that start; 0 = not known */
	uint64_t base_clock_ns; /* CLOCK_MONOTONIC of that start, in the earliest report */
	int64_t last_ns;        /* greatest end */

	/* per-report state */
	uint64_t start_ns;
	int64_t shift_ns; /* time from the earliest start to the start of the report */
};

struct sqlite_export {
	const struct sqlite_job *job;
	struct database database;
	struct export_clock clock;
	struct text_ids texts;
	struct export_threads threads;
	struct nsys_rows nsys;
	struct own_tables own;
	struct export_chains chains;
	struct cuda_values cuda;
	struct nvtx_domains nvtx;
	struct opened_files files;
	struct map objects; /* process and address of those noted of this report -> 1 */
	struct ncu_rows results;
	struct log_patterns log;
	struct batch_decoder decoder;
	uint64_t impossible;       /* calls left out because they end before they start */
	bool unread[SCHEMA_KINDS]; /* kinds that the job leaves out */
	bool has_cuda_call;        /* a call of CUDA was added although nothing reads them */

	/* per-report state */
	const struct sqlite_source *source;
	struct contents contents;
	struct symbols symbols;
};

/* Convert a time of the current report to a time of the database. */
static inline int64_t export_time(const struct sqlite_export *x, uint64_t ns)
{
	return (int64_t)(ns - x->clock.start_ns + (uint64_t)x->clock.shift_ns);
}

#endif
