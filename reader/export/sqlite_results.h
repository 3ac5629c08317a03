/*
 * sqlite_results.h - results of kernels in the export to SQLite: what a report of Nsight Compute
 * holds. Not for others than the parts of that export.
 *
 * A result that was timed is a row of CUPTI_ACTIVITY_KIND_KERNEL, a device one of TARGET_INFO_GPU;
 * tables of our own, LIBTRACE_NCU_*, have everything. Such a report tells the second in which a
 * result was made, and no time besides: a kernel starts there, or where the one before it ends.
 *
 * One thread. Memory: results.h, 12 bytes for each name of a metric, one result.
 */
#ifndef READER_EXPORT_SQLITE_RESULTS_H
#define READER_EXPORT_SQLITE_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/export/pages.h"
#include "reader/export/sqlite.h"
#include "reader/ncu/results.h"

struct writing;

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
enum kernel_place {
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
	KERNEL_PLACES
};

/* Metrics that say what other columns hold. */
enum result_fact {
	FACT_NONE,
	FACT_DURATION,
	FACT_DEVICE,
	FACT_REGISTERS,
	FACT_STATIC_SHARED,
	FACT_DYNAMIC_SHARED,
	RESULT_FACTS
};

/* What is known of a NameId: ids of texts + 1, 0 = not asked for yet. */
struct results_name {
	uint32_t text, unit; /* unit: 0 = there is none */
	uint8_t fact;
};

struct results_writing {
	struct page_table tables[RESULTS_TABLES];
	int kernel_places[KERNEL_PLACES]; /* positions in the table of all generations */

	struct results_tally tally;

	/* of the report at hand */
	struct ncu_results results;
	bool is_foreign; /* no event is in it: results are rows */
	struct results_name *names;
	uint8_t *facts_only; /* bits of the metrics that are facts; NULL = all metrics are rows */
	size_t next;         /* of its entries */
	uint64_t end_ns;     /* of the kernel before, since time 0 */
};

/* Tables made; roots written; those without rows dropped; memory given back. Each 0 or a negative
 * errno. */
int results_tables_begin(struct writing *w);
int results_tables_end(struct writing *w);
int results_drop_empty(struct writing *w);
void results_tables_release(struct writing *w);

/* A report begins and ends. */
void results_begin(struct writing *w);
void results_end(struct writing *w);

/* Takes note of a block, in the first pass. 0 or a negative errno. */
int results_note(struct writing *w, const struct report_block *block);

/* Behind the first pass: whether results are rows; rows for devices. 0 or a negative errno. */
int results_ready(struct writing *w);

/* Rows for the results of a block, in the second pass. 0 or a negative errno. */
int results_rows(struct writing *w, const struct report_block *block);

/* Rows for result `i`, unpacked (sqlite_result_rows.c). 0 or a negative errno. */
int results_row(struct writing *w, size_t i, const Ncu__ProfileResult *result);

/* A text as a value, bytes that are not UTF-8 as \xNN; NULL is NULL. It lives as long as `text`,
 * or the pool. 0, -ENOMEM, -EOVERFLOW. */
int results_text(struct writing *w, const char *text, struct page_value *v);

/* Rows for processes. 0 or a negative errno. */
int results_facts(struct writing *w);

#endif
