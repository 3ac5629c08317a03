/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_table.h - the metrics of a function by instruction, for the source page.
 *
 * One thread; allocates. Texts belong to the result and its sections.
 */
#ifndef READER_NCU_PAGES_SOURCE_TABLE_H
#define READER_NCU_PAGES_SOURCE_TABLE_H

#include "reader/ncu/code/module.h"
#include "reader/ncu/displayed_metrics.h"

#define SOURCE_COLUMNS_MAX 256u
#define SOURCE_CELLS_MAX 16000000u /* most cells of a function; a hostile file may claim any size */

/* A bit of a number, and its name; the last element has bit 0. */
struct source_flag {
	uint32_t bit;
	const char *name;
};

/* A metric by instruction; for a group, the sum of its members. */
struct source_column {
	const char *label;
	const Ncu__ProfileMetricResult **metrics;
	size_t metric_count;
	bool is_text;
	const struct source_flag *flags; /* numbers are sets of these bits; NULL = plain numbers */
	bool is_mean; /* a source line has the mean of its instructions, not their sum */
};

struct source_cell {
	double number;
	const char *text; /* NULL = no text */
	bool is_known;    /* the cell has a value */
};

struct source_columns {
	struct source_column list[SOURCE_COLUMNS_MAX];
	size_t count;
};

/* Collect the source metrics of a result's sections that have instances by address, each once.
 * Returns 0 or -ENOMEM. Release the columns in both cases. */
int source_columns_make(
	struct source_columns *c, const struct ncu_results *results, const Ncu__ProfileResult *r);
void source_columns_release(struct source_columns *c);

struct source_table {
	const struct source_columns *columns;
	uint64_t address;
	uint32_t step; /* bytes of an instruction */
	size_t rows;
	bool is_used;              /* some cell has a value */
	struct source_cell *cells; /* row by row */
};

/* Compute the cells of a function. step: bytes of an instruction. Returns 0 or -ENOMEM. Release
 * the table in both cases. */
int source_table_fill(struct source_table *t, const struct source_columns *columns,
	const struct module_function *f, uint32_t step);
void source_table_release(struct source_table *t);

/* Return the cell at a row and column, both counted from 0. */
const struct source_cell *source_table_at(const struct source_table *t, size_t row, size_t column);

#endif
