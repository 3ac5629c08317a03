/* SPDX-License-Identifier: Apache-2.0 */
/*
 * database.h - a SQLite database that gets its name only when it is complete.
 *
 * It is written under another name in the same folder: database_create(), statements, then
 * database_finish() or database_abandon(). One transaction without a journal: a file that was not
 * finished is no database, and is removed. Tables of nsys (nsys_tables.def) are created by their
 * first row. A function that fails puts the reason into `cause`. In a build without SQLite
 * database_create() fails and says so.
 *
 * Memory: a page cache of 2 MiB. One thread; allocates; writes files.
 */
#ifndef READER_EXPORT_SQLITE_DATABASE_H
#define READER_EXPORT_SQLITE_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/export/sqlite/nsys.h"

#define DATABASE_CAUSE_BYTES 200u

struct database {
	void *connection;                /* sqlite3; NULL = closed */
	void *statement;                 /* of database_row(), for `table` */
	char table[96];                  /* the table that the last row was added to */
	enum nsys_generation generation; /* of the tables of nsys; set before the first row */
	struct nsys_shape shape;         /* of the last nsys table asked for; no columns: of none */
	char *name, *temporary;          /* final name; name while it is written */
	bool overwrite;
	char cause[DATABASE_CAUSE_BYTES];
};

/* Create the file that will be called `name`. An existing file is an error unless `overwrite`.
 * Returns 0 or a negative errno; database_abandon() in both cases. */
int database_create(struct database *d, const char *name, bool overwrite);

/* Create a table unless it exists: with these columns, or those of nsys_tables.def where `columns`
 * is NULL. Returns 0 or a negative errno, -EINVAL where the generation has no such table. */
int database_table(struct database *d, const char *table, const char *columns);

/* Count the columns of a table by its name in the file. Returns 0 or a negative errno. */
int database_columns(struct database *d, const char *table, uint32_t *ret_columns);

/*
 * Add a row. `form` has a letter for each column: i int64_t, o int and int64_t (NULL where
 * the int is 0), t const char * (NULL is NULL), n NULL without an argument. Bytes of a text that
 * are not UTF-8 are written as \xNN, since readers of SQLite stop at them. A table of nsys is
 * created if need be; its form is that of all generations: columns that the generation at hand
 * lacks are left out, and so is the row where it lacks the table. Returns 0 or a negative errno.
 */
int database_row(struct database *d, const char *table, const char *form, ...);

/* Store the reason of SQLite's last failure in `cause`. Returns the nearest negative errno. */
int database_failed(struct database *d);

/* Commit, close, and give the file its name. Returns 0 or a negative errno; -EEXIST: meanwhile
 * another program has created a file of that name. */
int database_finish(struct database *d);

/* Remove a file that was not finished, and free the memory. */
void database_abandon(struct database *d);

#endif
