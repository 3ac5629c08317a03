/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulk_table.h - a table of the database that receives many rows.
 *
 * Rows are buffered and inserted by one statement per BULK_ROWS rows, which takes a fifth of the
 * time of one statement per row. The table is created with its first row, so a table without rows
 * is not in the file. Row ids count from 1, unless a column is declared INTEGER PRIMARY KEY and the
 * rows contain it.
 *
 * Memory per table that has rows: one statement, BULK_VARIABLES cells, and BULK_TEXT_BYTES of texts
 * or the longest row. One thread; allocates; writes to the database.
 */
#ifndef READER_EXPORT_SQLITE_BULK_TABLE_H
#define READER_EXPORT_SQLITE_BULK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/export/sqlite/database.h"
#include "reader/export/sqlite/nsys.h"

#define BULK_ROWS 100u      /* maximum rows per statement */
#define BULK_VARIABLES 999u /* SQLite's limit until version 3.32 */
#define BULK_TEXT_BYTES 262144u
#define BULK_TEXT_MAX 16000000u /* maximum bytes of a text; longer ones are truncated */

/* A value of a row. */
enum cell_kind { CELL_NULL, CELL_INTEGER, CELL_REAL, CELL_TEXT };

struct cell {
	enum cell_kind kind;
	uint32_t bytes; /* length of a text */
	union {
		int64_t integer;
		double real;
		const char *text; /* UTF-8, not terminated */
		size_t offset;    /* offset of a buffered text */
	};
};

static inline void cell_set_number(struct cell *cell, int64_t number)
{
	cell->kind = CELL_INTEGER;
	cell->integer = number;
}

/* All zero = the table is not part of the export, and ignores rows. */
struct bulk_table {
	struct database *database;
	char *name, *definition;      /* definition NULL = as in nsys_tables.def */
	uint64_t rows;                /* rows added so far; also the row id of the last row */
	uint32_t columns;             /* 0 = not created yet */
	uint8_t places[NSYS_COLUMNS]; /* for each column, the index of its value */

	struct cell *cells; /* buffered rows */
	uint8_t *changed;   /* for each cell: the value bound to `statement` is outdated */
	uint32_t buffered, room;
	char *texts; /* texts of buffered rows */
	size_t text_bytes, text_room;
	void *statement; /* sqlite3_stmt for `room` rows; NULL = not prepared yet */
};

/* Open `t` for rows of the table `name` of `d`. `definition` is the text between the parentheses of
 * CREATE TABLE; NULL = the definition in nsys_tables.def for the generation of `d`, and then rows
 * are passed with the columns of all generations. Returns 0 or -ENOMEM. */
int bulk_table_begin(
	struct bulk_table *t, struct database *d, const char *name, const char *definition);

/* Return true if the table is part of the export. */
static inline bool bulk_table_is_open(const struct bulk_table *t)
{
	return t->database;
}

/* Add a row of integers; values whose bit in `nulls` is set are NULL. Returns 0, or a negative
 * errno with the cause in the database. */
int bulk_table_numbers(struct bulk_table *t, const int64_t *values, uint64_t nulls);

/* Add a row; its texts are copied. Returns 0, or a negative errno with the cause in the
 * database. */
int bulk_table_row(struct bulk_table *t, const struct cell *values);

/* Insert the rows that are still buffered, and free the buffer; `rows` keeps its value. Required
 * for every table before database_finish(). Returns 0, or a negative errno with the cause in the
 * database. */
int bulk_table_end(struct bulk_table *t);

/* Free the memory, before database_abandon(); rows that are still buffered are discarded. */
void bulk_table_release(struct bulk_table *t);

#endif
