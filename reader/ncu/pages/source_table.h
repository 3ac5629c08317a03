/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_table.h - the metrics of a function by its instructions: what the source page prints.
 *
 * One thread; allocates. Texts are those of the result and of its sections.
 */
#ifndef READER_NCU_PAGES_SOURCE_TABLE_H
#define READER_NCU_PAGES_SOURCE_TABLE_H

#include "reader/ncu/code/module.h"
#include "reader/ncu/displayed_metrics.h"

#define SOURCE_COLUMNS_MAX 256u
#define SOURCE_CELLS_MAX 16000000u /* of a function: a hostile file may tell of any size */

/* A bit of a number, and its name; the last one is 0. */
struct source_flag {
	uint32_t bit;
	const char *name;
};

/* One metric by instructions; of a group, the sum of its members. */
struct source_column {
	const char *label;
	const Ncu__ProfileMetricResult **metrics;
	size_t metric_count;
	bool is_text;
	const struct source_flag *flags; /* numbers are made of these; NULL: they are numbers */
	bool is_mean; /* a line has the mean of its instructions, not their sum */
};

struct source_cell {
	double number;
	const char *text; /* NULL: none */
	bool is_known;    /* it has a value */
};

struct source_columns {
	struct source_column list[SOURCE_COLUMNS_MAX];
	size_t count;
};

/* The source metrics of a result's sections that it has by address, each once. 0 or -ENOMEM.
 * Release it in any case. */
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

/* The cells of a function. 0 or -ENOMEM. Release it in any case. */
int source_table_fill(struct source_table *t, const struct source_columns *columns,
	const struct module_function *f, uint32_t step);
void source_table_release(struct source_table *t);

const struct source_cell *source_table_at(const struct source_table *t, size_t row, size_t column);

#endif
