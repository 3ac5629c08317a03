/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_tables.h - tables of libtrace, defined by the declarations of events (events.def).
 *
 * If no table of nsys takes a kind of events, LIBTRACE_KIND contains all rows of the kind. For
 * other kinds, LIBTRACE_KIND contains the fields for which tables of nsys have no column, if
 * they are not 0 (`id` is the row id there), and LIBTRACE_KIND_OTHER contains the rows that no
 * table of nsys takes.
 *
 * One thread; allocates.
 */
#ifndef READER_EXPORT_SQLITE_OWN_TABLES_H
#define READER_EXPORT_SQLITE_OWN_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/export/sqlite/bulk_table.h"
#include "reader/export/sqlite/decoded.h"
#include "reader/file/schema.h"

struct sqlite_export;

struct own_tables {
	struct bulk_table facts[SCHEMA_KINDS];  /* LIBTRACE_KIND */
	struct bulk_table others[SCHEMA_KINDS]; /* LIBTRACE_KIND_OTHER */
};

/* Convert the name of a field to the name of a column: "start_ns" to start, "parent_tid" to
 * parentTid. Columns of text ids have Id after it. */
void own_column_name(const char *column, char *out, size_t bytes);

/* Open the tables, after nsys_rows_begin(); insert buffered rows; free the memory. Functions that
 * can fail return 0 or a negative errno. */
int own_tables_begin(struct sqlite_export *x);
int own_tables_end(struct own_tables *t);
void own_tables_release(struct own_tables *t);

/* Write the name of LIBTRACE_KIND, or of LIBTRACE_KIND_OTHER. */
void own_table_name(const struct schema_event *e, bool other, char *out, size_t bytes);

/* Add a row with all fields of its kind. Returns 0 or a negative errno. */
int own_row_whole(
	struct sqlite_export *x, struct bulk_table *t, const struct decoded_batch *b, uint32_t row);

/* Add the fields for which tables of nsys have no column to LIBTRACE_KIND, unless all are 0.
 * `rowid`: id of the row in the table of nsys. Returns 0 or a negative errno. */
int own_row_facts(
	struct sqlite_export *x, const struct decoded_batch *b, uint32_t row, uint64_t rowid);

#endif
