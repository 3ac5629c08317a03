/*
 * table.h - rows of statistics and the formats they are printed in, as nsys prints them.
 *
 * table_init(), table_cell() column by column, row by row, table_print(), table_release(). A table
 * that ran out of memory prints nothing and table_print() says -ENOMEM. One thread.
 */
#ifndef READER_CLI_TABLE_H
#define READER_CLI_TABLE_H

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

struct table {
	const struct table_column *columns;
	size_t column_count;
	char **cells;
	size_t count, capacity;
	bool broken;
};

enum table_format { TABLE_ALIGNED, TABLE_CSV, TABLE_TSV, TABLE_JSON };

void table_init(struct table *t, const struct table_column *columns, size_t count);
void table_release(struct table *t);

/* Adds the next cell; the text is copied. */
__attribute__((format(printf, 2, 3))) void table_cell(struct table *t, const char *format, ...);
int table_print(const struct table *t, enum table_format format, FILE *out);

#endif
