/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nsys_rows.h - events as rows of the tables of nsys, by the mapping in nsys_rows.def.
 *
 * One thread; allocates.
 */
#ifndef READER_EXPORT_SQLITE_NSYS_ROWS_H
#define READER_EXPORT_SQLITE_NSYS_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/export/sqlite/bulk_table.h"
#include "reader/export/sqlite/decoded.h"
#include "reader/export/sqlite/nsys.h"
#include "reader/file/schema.h"

struct sqlite_export;

/* How a column of nsys_rows.def is computed; that file describes each. Their order matters:
 * numbers, ids of the row's process and thread, texts, payloads, CUDA. */
enum how {
	HOW_CONSTANT,
	HOW_TEXT,
	HOW_TIME,
	HOW_END,
	HOW_END_KNOWN,
	HOW_END_ANY,
	HOW_NUMBER,
	HOW_NUMBER_OR_NULL,
	HOW_NATURAL_OR_NULL,
	HOW_ADD_ONE,
	HOW_LESS_ONE,
	HOW_LESS_ONE_OR_NULL,
	HOW_TIMES_1000,
	HOW_BITS_32,
	HOW_GLOBAL_TID,
	HOW_GLOBAL_PID,
	HOW_PID,
	HOW_HW_ID,
	HOW_VM_ID,
	HOW_VID,
	HOW_TEXT_ID,
	HOW_TEXT_ID_OR_NULL,
	HOW_TEXT_INLINE,
	HOW_TID,
	HOW_END_TID,
	HOW_DOMAIN,
	HOW_NVTX_TEXT,
	HOW_NVTX_TEXT_ID,
	HOW_UINT64,
	HOW_INT64,
	HOW_DOUBLE,
	HOW_UINT32,
	HOW_INT32,
	HOW_FLOAT,
	HOW_JSON,
	HOW_CHAIN, /* first of the CUDA columns */
	HOW_DEMANGLED,
	HOW_SHORT_NAME,
	HOW_MEMORY_KIND,
	HOW_SYNC_TYPE,
	HOW_OVERHEAD_TYPE,
	HOW_OVERHEAD_NAME,
	HOW_OVERHEAD_TID,
	HOW_GRAPH_CLASS,
	HOW_GRAPH_NAME,
	HOW_GRAPH_NODE_NAME,
	HOW_CONTEXT_DEVICE,
	HOW_GRAPH_OF_EXEC,
	HOW_GPU_ID,
	HOW_FUNCTION_AT,
	HOW_MODULE_AT,
	HOW_UUID,
	HOW_BUS,
	HOW_IS_DISCRETE,
	HOW_SHARED_OPTIN
};

/* A set of values of a field, one bit each. */
struct value_set {
	uint8_t field; /* index in the schema */
	bool any;      /* matches any value */
	uint64_t bits;
};

/* Mapping of the rows of a kind to a table of nsys. */
struct mapping {
	enum nsys_table table;
	struct value_set when;
	bool ended;              /* events that did not end are left out */
	uint32_t columns, count; /* columns of the table in all generations; entries of `sources` */
	struct mapped_column {
		uint8_t column, how, field; /* `column`: index in the table; `field`: index in
					     * the schema */
		struct value_set when;
		int64_t constant;
		const char *text;
	} sources[NSYS_COLUMNS];
};

#define MAPPINGS_MAX 80u

/* Tables that the rows of a kind are written to. */
struct kind_rows {
	uint8_t first, count; /* mappings of the kind; count 0 = all rows are in LIBTRACE_KIND */
	bool conditional;     /* LIBTRACE_KIND_OTHER has the rows that no nsys table takes */
	bool whole;           /* all rows are also in LIBTRACE_KIND */
	uint8_t fact_count;   /* number of fields for which no table of nsys has a column */
	uint8_t facts[SCHEMA_FIELDS];
};

struct nsys_rows {
	struct mapping mappings[MAPPINGS_MAX];
	struct kind_rows kinds[SCHEMA_KINDS];
	struct bulk_table tables[NSYS_TABLES]; /* tables of the current generation */
};

/* Parse nsys_rows.def and open the tables; insert buffered rows; free the memory. Functions that
 * can fail return 0 or a negative errno; nsys_rows_begin() returns -EINVAL if nsys_rows.def does
 * not match the tables. */
int nsys_rows_begin(struct sqlite_export *x);
int nsys_rows_end(struct nsys_rows *n);
void nsys_rows_release(struct nsys_rows *n);

/* Add a row to every table of nsys that takes this event. *ret_rowid: row id in the first of
 * these tables; 0 = no table takes the event. Returns 0 or a negative errno. */
int nsys_row(
	struct sqlite_export *x, const struct decoded_batch *b, uint32_t row, uint64_t *ret_rowid);

#endif
