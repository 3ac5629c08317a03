/*
 * nsys.h - the tables of an nsys export (nsys_tables.def) in the shapes of three generations.
 *
 * Constant data; any thread; nothing allocates.
 */
#ifndef READER_EXPORT_NSYS_H
#define READER_EXPORT_NSYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which exports of nsys the database is shaped like. */
enum nsys_generation { NSYS_3_24, NSYS_3_4, NSYS_2_9, NSYS_GENERATIONS };

#define TABLE(name, generations, columns) NSYS_##name,
enum nsys_table {
#include "reader/export/nsys_tables.def"
	NSYS_TABLES
};

#define NSYS_COLUMNS 64u
#define NSYS_SQL_BYTES 4096u

/* A table as one generation has it. */
struct nsys_shape {
	uint32_t columns;             /* 0: that generation has no such table */
	uint8_t places[NSYS_COLUMNS]; /* of each: its position among the columns of all generations
				       */
	char sql[NSYS_SQL_BYTES];     /* what stands in the parentheses of CREATE TABLE */
};

/* The generation of this name ("2.9", "3.4", "3.24"); false: there is none. */
bool nsys_generation_named(const char *name, enum nsys_generation *ret_generation);

/* Its name in that generation. */
const char *nsys_table_name(enum nsys_table table, enum nsys_generation generation);

/* Does a mark, "+3.4" or "-3.4", let this generation pass? "" does. */
bool nsys_mark_lets(const char *mark, size_t bytes, enum nsys_generation generation);

/* The table of this name, that of now; NSYS_TABLES: none of nsys. */
enum nsys_table nsys_table_named(const char *name);

void nsys_table_shape(
	enum nsys_table table, enum nsys_generation generation, struct nsys_shape *ret_shape);

/* Columns of all generations together, and the position of one among them, -1 = there is none. */
uint32_t nsys_columns(enum nsys_table table);
int nsys_column(enum nsys_table table, const char *name);

#endif
