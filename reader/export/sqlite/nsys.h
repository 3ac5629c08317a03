/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nsys.h - the tables of an nsys export (nsys_tables.def) as three generations of nsys have them.
 *
 * Constant data; any thread; nothing allocates.
 */
#ifndef READER_EXPORT_SQLITE_NSYS_H
#define READER_EXPORT_SQLITE_NSYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Generations of nsys exports that the database can imitate. */
enum nsys_generation { NSYS_3_24, NSYS_3_4, NSYS_2_9, NSYS_GENERATIONS };

#define TABLE(name, generations, columns) NSYS_##name,
enum nsys_table {
#include "reader/export/sqlite/nsys_tables.def"
	NSYS_TABLES
};

#define NSYS_COLUMNS 64u
#define NSYS_SQL_BYTES 4096u

/* The shape of a table in one generation. */
struct nsys_shape {
	uint32_t columns;             /* 0 = the generation has no such table */
	uint8_t places[NSYS_COLUMNS]; /* for each column, its index among the columns of
				       * all generations */
	char sql[NSYS_SQL_BYTES];     /* text between the parentheses of CREATE TABLE */
};

/* Find a generation by its name ("2.9", "3.4", "3.24"). Returns false for an unknown name. */
bool nsys_generation_named(const char *name, enum nsys_generation *ret_generation);

/* Return the name of a table in a generation. */
const char *nsys_table_name(enum nsys_table table, enum nsys_generation generation);

/* Return true if a mark, "+3.4" or "-3.4", includes this generation; "" includes all. */
bool nsys_mark_admits(const char *mark, size_t bytes, enum nsys_generation generation);

/* Find a table by its name in the newest generation. Returns NSYS_TABLES if nsys has no such
 * table. */
enum nsys_table nsys_table_named(const char *name);

/* Compute the shape of a table in a generation. nullable: columns that may be NULL whatever their
 * declaration, a bit for each index among the columns of all generations. */
void nsys_table_shape(enum nsys_table table, enum nsys_generation generation, uint64_t nullable,
	struct nsys_shape *ret_shape);

/* Return the number of columns that a table has in all generations together. */
uint32_t nsys_columns(enum nsys_table table);

/* Return the index of a column among these; -1 = not found. */
int nsys_column(enum nsys_table table, const char *name);

#endif
