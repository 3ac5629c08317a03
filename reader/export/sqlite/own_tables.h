/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_tables.h - tables of ours, built from the declarations of events (events.def).
 *
 * A kind of events that no table of nsys takes has all its rows in LIBTRACE_KIND. Of a kind that
 * tables of nsys take, LIBTRACE_KIND has the fields for which those have no column, where they are
 * not 0 (`id` is the row id there), and LIBTRACE_KIND_OTHER the rows that no table of nsys takes.
 *
 * One thread; allocates.
 */
#ifndef READER_EXPORT_SQLITE_OWN_TABLES_H
#define READER_EXPORT_SQLITE_OWN_TABLES_H

#include <stdint.h>

#include "reader/export/sqlite/bulk_table.h"
#include "reader/export/sqlite/decoded.h"
#include "reader/file/schema.h"

struct sqlite_export;

struct own_tables {
	struct bulk_table facts[SCHEMA_KINDS];  /* LIBTRACE_KIND */
	struct bulk_table others[SCHEMA_KINDS]; /* LIBTRACE_KIND_OTHER */
};

/* Open the tables, after nsys_rows_begin(); insert their rows; free the memory. Each that can fail
 * returns 0 or a negative errno. */
int own_tables_begin(struct sqlite_export *x);
int own_tables_end(struct own_tables *t);
void own_tables_release(struct own_tables *t);

/* Add a row with all fields of its kind. Returns 0 or a negative errno. */
int own_row_whole(
	struct sqlite_export *x, struct bulk_table *t, const struct decoded_batch *b, uint32_t row);

/* Add the fields for which tables of nsys have no column to LIBTRACE_KIND, unless all are 0.
 * `rowid` is the row that the table of nsys got. Returns 0 or a negative errno. */
int own_row_facts(
	struct sqlite_export *x, const struct decoded_batch *b, uint32_t row, uint64_t rowid);

#endif
