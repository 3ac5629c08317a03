/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chains.h - callchains: rows of OSRT_CALLCHAINS and CUDA_CALLCHAINS, and the source lines of their
 * frames (LIBTRACE_OSRT_CALLCHAINS, LIBTRACE_CUDA_CALLCHAINS).
 *
 * A callchain is written once for all events that have it, as long as the same modules are mapped.
 *
 * Memory: 24 bytes and a map entry for each callchain of the current report. One thread; allocates.
 */
#ifndef READER_EXPORT_SQLITE_CHAINS_H
#define READER_EXPORT_SQLITE_CHAINS_H

#include <stdint.h>

#include "reader/export/sqlite/bulk_table.h"
#include "reader/export/sqlite/decoded.h"
#include "reader/base/map.h"
#include "reader/symbols/symbols.h"
#include "reader/report/processes.h"

struct sqlite_export;

#define CHAIN_TABLES 2u

/* Id of a callchain, and the span of time in which its frames are valid. */
struct known_chain {
	uint32_t id;
	struct time_span span;
};

struct export_chains {
	struct bulk_table lines[CHAIN_TABLES];
	uint32_t last_ids[CHAIN_TABLES]; /* last ids assigned */

	/* per-report state */
	struct map known; /* function and process, table, method and node -> index + 1 */
	struct known_chain *list;
	uint32_t count, capacity;
	uint32_t libc_process; /* process whose C library libc_path is */
	const char *libc_path;
};

/* A callchain to look up. */
struct wanted_chain {
	struct process *process; /* NULL = not in the report */
	uint32_t node, method;
	uint32_t function; /* string id of the called function; 0 = none */
	enum nsys_table table;
	uint64_t ns;  /* end of the call */
	bool in_step; /* a sample at the end of a call: what ran is not known */
};

/* Open the tables of source lines; insert buffered rows; free the memory. Functions that
 * can fail return 0 or a negative errno. */
int chains_begin(struct sqlite_export *x);
int chains_end(struct sqlite_export *x);
void chains_release(struct sqlite_export *x);

/* Forget the callchains of a report. */
void chains_report_end(struct sqlite_export *x);

/* Look up the id of a callchain, and write its frames if it is new; *ret_id 0 = it has no frames.
 * Returns 0 or a negative errno. */
int chain_id(struct sqlite_export *x, const struct wanted_chain *wanted, uint32_t *ret_id);

/* Write the frames of a sample's callchain under the sample's id. Returns 0 or a negative errno. */
int chain_of_sample(struct sqlite_export *x, const struct wanted_chain *wanted, uint32_t id);

/* Look up the id of the callchain of a row, as chain_id() does; *ret_id 0 = the row has none.
 * Returns 0 or a negative errno. */
int chain_id_of_row(struct sqlite_export *x, const struct decoded_batch *b, uint32_t row,
	enum nsys_table table, uint32_t *ret_id);

#endif
