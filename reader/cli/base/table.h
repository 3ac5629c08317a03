/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - rows of statistics, and the formats they are printed in, which are those of nsys.
 *
 * Call table_init(), then table_cell() column by column and row by row, then table_print() and
 * table_release(). To bound memory, call table_flow() after each row: it prints some of the rows.
 * The aligned form takes its column widths from the first TABLE_ROWS_HELD rows; on a terminal,
 * longer texts of later rows are folded. After an allocation failure a table prints nothing more,
 * and table_print() returns -ENOMEM. One thread.
 */
#ifndef READER_CLI_BASE_TABLE_H
#define READER_CLI_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct table_column {
	const char *title;
	bool is_text;  /* left-aligned and quoted; otherwise a number: right-aligned, with
			  thousands separators unless table_is_id() */
	uint32_t most; /* greatest width in terminal columns; the aligned form shortens longer
			  texts. 0 = no limit */
	bool keep_end; /* shorten at the start, as for paths */
};

#define TABLE_ROWS_HELD 1000u

enum table_format { TABLE_ALIGNED, TABLE_CSV, TABLE_TSV, TABLE_JSON };

/* The unit that columns of nanoseconds ("Total Time (ns)") are printed in. */
enum table_time { TABLE_NS, TABLE_US, TABLE_MS, TABLE_SEC };

struct table {
	const struct table_column *columns;
	size_t column_count;
	enum table_time time; /* set after table_init() */
	uint32_t width; /* set after table_init(): the terminal's width for the aligned form; 0 = no
			   limit */
	char **cells;   /* NULL = no value */
	size_t count;
	uint32_t capacity;
	size_t *widths;      /* widths of the aligned form; set when the heading is printed */
	bool folded, listed; /* how the aligned form fits the terminal */
	bool begun, broken;
};

/* Return whether the numbers of a column are identifiers, which are printed without thousands
 * separators: "PID", "Device ID", "CorrID", "Descriptor". */
bool table_is_id(const struct table_column *column);

/* Initialize an empty table. `columns` must live as long as the table. */
void table_init(struct table *t, const struct table_column *columns, size_t count);

/* Free all memory of the table. */
void table_release(struct table *t);

/* Append a cell, formatted as by printf; the text is copied. */
__attribute__((format(printf, 2, 3))) void table_cell(struct table *t, const char *format, ...);

/* Append a cell with a copy of the text. */
void table_text(struct table *t, const char *text);

/* Append a cell without a value: empty, or null in JSON. */
void table_null(struct table *t);

/* Print the rows that are held: all remaining rows, and the end of the table (table_print()); or
 * only when TABLE_ROWS_HELD rows are held (table_flow()). Both return 0 or -ENOMEM. */
int table_print(struct table *t, enum table_format format, FILE *out);
int table_flow(struct table *t, enum table_format format, FILE *out);

/* Return the format with this name: "table", "column" (the same), "csv", "tsv" or "json". NULL
 * means "table". */
enum table_format table_format_named(const char *name);

/* Find a unit by a name that nsys accepts ("us", "usec", "microseconds", or a prefix of one).
 * Returns false if the name is unknown. */
bool table_time_named(const char *name, enum table_time *ret_time);

#endif
