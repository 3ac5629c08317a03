/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.h - kernel results, the contents of an Nsight Compute report, as rows.
 *
 * A result with a duration is a row of CUPTI_ACTIVITY_KIND_KERNEL, a device a row of
 * TARGET_INFO_GPU; tables of libtrace, LIBTRACE_NCU_*, contain everything. The only time in such a
 * report is the second in which a result was created: a kernel starts then, or at the end of the
 * previous kernel.
 *
 * Memory: that of ncu/results.h, 12 bytes for each metric name, and one unpacked result. One
 * thread; allocates.
 */
#ifndef READER_EXPORT_SQLITE_RESULTS_H
#define READER_EXPORT_SQLITE_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/export/sqlite/bulk_table.h"
#include "reader/export/sqlite/export.h"
#include "reader/ncu/results.h"

struct sqlite_export;

enum results_table {
	OF_RESULT,
	OF_METRIC,
	OF_INSTANCE,
	OF_SECTION,
	OF_RULE,
	OF_RANGE,
	OF_FRAME,
	RESULTS_TABLES
};

/* Columns of CUPTI_ACTIVITY_KIND_KERNEL that results fill. */
enum kernel_column {
	KERNEL_START,
	KERNEL_END,
	KERNEL_DEVICE,
	KERNEL_CONTEXT,
	KERNEL_STREAM,
	KERNEL_PID,
	KERNEL_DEMANGLED,
	KERNEL_SHORT,
	KERNEL_MANGLED,
	KERNEL_REGISTERS,
	KERNEL_GRID_X,
	KERNEL_GRID_Y,
	KERNEL_GRID_Z,
	KERNEL_BLOCK_X,
	KERNEL_BLOCK_Y,
	KERNEL_BLOCK_Z,
	KERNEL_STATIC_SHARED,
	KERNEL_DYNAMIC_SHARED,
	KERNEL_LOCAL_PER_THREAD,
	KERNEL_LOCAL_TOTAL,
	KERNEL_GRID_ID,
	KERNEL_TENSOR,
	KERNEL_COLUMNS
};

/* Metrics whose values are columns of other tables. */
enum result_fact {
	FACT_NONE,
	FACT_DURATION,
	FACT_DEVICE,
	FACT_REGISTERS,
	FACT_STATIC_SHARED,
	FACT_DYNAMIC_SHARED,
	RESULT_FACTS
};

/* Name and unit of a NameId: text ids + 1; 0 = not looked up yet. */
struct results_name {
	uint32_t text, unit; /* unit: 0 = none */
	uint8_t fact;
};

struct ncu_rows {
	struct bulk_table tables[RESULTS_TABLES];
	int kernel_columns[KERNEL_COLUMNS]; /* index of each in the table */
	struct results_tally tally;

	/* per-report state */
	struct ncu_results results;
	bool is_foreign; /* the report has no events, so its results are rows */
	struct results_name *names;
	uint8_t *facts_only; /* bitmap by NameId: read these metrics only; NULL = all metrics are
				rows */
	size_t next;         /* index of the next entry */
	uint64_t end_ns;     /* end of the previous kernel, since time 0 */
};

/* Open the tables; insert buffered rows; free the memory. Functions that can fail return 0 or a
 * negative errno. */
int results_begin(struct sqlite_export *x);
int results_end(struct ncu_rows *r);
void results_release(struct ncu_rows *r);

/* Begin and end a report. */
void results_report_begin(struct ncu_rows *r, const struct report *report);
void results_report_end(struct ncu_rows *r);

/* Record the positions of the results in a block, in the first pass. Returns 0 or a negative errno.
 */
int results_note(struct sqlite_export *x, const struct report_block *block);

/* Decide whether results are rows, after the first pass, and add the rows of devices. Returns 0 or
 * a negative errno. */
int results_ready(struct sqlite_export *x);

/* Add the rows of the results of a block, in the second pass. Returns 0 or a negative errno. */
int results_rows(struct sqlite_export *x, const struct report_block *block);

/* Add the rows of processes. Returns 0 or a negative errno. */
int results_processes(struct sqlite_export *x);

#endif
