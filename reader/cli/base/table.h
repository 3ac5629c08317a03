/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - rows of statistics and the formats they are printed in, as nsys prints them.
 *
 * table_init(), table_cell() column by column, row by row, table_print(), table_release(). Of many
 * rows only some need be held: table_flow() behind each row prints some of them, and the aligned
 * form takes its widths from the first TABLE_ROWS_HELD; on a terminal, texts of later rows that
 * have no room there are folded. A table that ran out of memory prints nothing (more) and
 * table_print() says -ENOMEM. One thread.
 */
#ifndef READER_CLI_BASE_TABLE_H
#define READER_CLI_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct table_column {
	const char *title;
	bool is_text;  /* left-aligned and quoted; else a number: right-aligned, with separators of
			  thousands */
	uint32_t most; /* columns of the terminal; longer texts are shortened in the aligned form.
			  0 = any */
	bool keep_end; /* shortened at its begin, as paths are */
};

#define TABLE_ROWS_HELD 1000u

enum table_format { TABLE_ALIGNED, TABLE_CSV, TABLE_TSV, TABLE_JSON };

/* What columns of nanoseconds, "Total Time (ns)", are printed in. */
enum table_time { TABLE_NS, TABLE_US, TABLE_MS, TABLE_SEC };

struct table {
	const struct table_column *columns;
	size_t column_count;
	enum table_time time; /* set it behind table_init() */
	uint32_t width;       /* likewise: of the terminal that the aligned form is for; 0 = any */
	char **cells;         /* NULL = no value */
	size_t count;
	uint32_t capacity;
	size_t *widths;      /* of the aligned form, when the heading is printed */
	bool folded, listed; /* how the aligned form found room */
	bool begun, broken;
};

void table_init(struct table *t, const struct table_column *columns, size_t count);
void table_release(struct table *t);

/* Adds the next cell; the text is copied. */
__attribute__((format(printf, 2, 3))) void table_cell(struct table *t, const char *format, ...);

/* Adds a cell without a value: an empty one, null in JSON. */
void table_null(struct table *t);

/* 0 or -ENOMEM. */
int table_print(struct table *t, enum table_format format, FILE *out);
int table_flow(struct table *t, enum table_format format, FILE *out);

/* "table" or NULL, "column" (the same), "csv", "tsv", "json". */
enum table_format table_format_named(const char *name);

/* A unit's name as nsys has them ("us", "usec", "microseconds", or the begin of one); false = none.
 */
bool table_time_named(const char *name, enum table_time *ret_time);

#endif
