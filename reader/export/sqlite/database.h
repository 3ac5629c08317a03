/* SPDX-License-Identifier: Apache-2.0 */
/*
 * database.h - SQLite database that gets its name only when it is complete.
 *
 * The file is written under a temporary name in the same folder: database_create(), statements,
 * database_finish() unless something failed, database_abandon(). One transaction without a journal;
 * a file that was not finished is invalid and is removed. Tables of nsys (nsys_tables.def) are
 * created by their first row. A function that fails stores the reason in `cause`. In a build
 * without SQLite, database_create() fails with such a reason.
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
	void *statement;                 /* statement of database_row() for `table` */
	char table[96];                  /* table of the last row */
	enum nsys_generation generation; /* generation of nsys's tables; set before the first row */
	uint64_t nullable[NSYS_TABLES];  /* columns of each table, a bit each, that a source has no
					  * value of: they are not declared NOT NULL */
	struct nsys_shape shape;         /* shape of the last nsys table looked up; no columns =
					  * not a table of nsys */
	char *name, *temporary;          /* final name; temporary name */
	bool overwrite;
	char cause[DATABASE_CAUSE_BYTES];
};

/* Create the file. An existing file `name` is an error unless `overwrite`. Returns 0 or a negative
 * errno. Call database_abandon() at the end, also after an error or database_finish(). */
int database_create(struct database *d, const char *name, bool overwrite);

/* Create a table unless it exists, with these columns; `columns` NULL = the columns in
 * nsys_tables.def. Returns 0 or a negative errno; -EINVAL if the generation has no such table. */
int database_table(struct database *d, const char *table, const char *columns);

/* Count the columns of a table, by its name in the file. Returns 0 or a negative errno. */
int database_columns(struct database *d, const char *table, uint32_t *ret_columns);

/*
 * Add a row. `form` has a letter per column: i int64_t; o int and int64_t (NULL if the int is 0); t
 * const char * (NULL is NULL); n NULL without an argument. Bytes of a text that are not UTF-8 are
 * written as \xNN, because readers of SQLite stop at them. A table of nsys is created if needed.
 * Its form has the columns of all generations: columns that the current generation lacks are left
 * out, and the row is ignored if it lacks the table. Returns 0 or a negative errno.
 */
int database_row(struct database *d, const char *table, const char *form, ...);

/* Run statements without rows, at most 2 KiB, of a format whose arguments are trusted. Returns 0 or
 * a negative errno. */
__attribute__((format(printf, 2, 3))) int database_run(struct database *d, const char *format, ...);

/* Store the reason of SQLite's last failure in `cause`. Returns the closest negative errno. */
int database_failed(struct database *d);

/* Commit the rows so far, so that another connection can read them from `temporary`, and go on with
 * another transaction. Returns 0 or a negative errno. */
int database_commit(struct database *d);

/* Commit, close, and rename the file to its final name. Returns 0 or a negative errno; -EEXIST if
 * another program has created a file of that name meanwhile. */
int database_finish(struct database *d);

/* Remove the file if it is not finished, and free the memory. */
void database_abandon(struct database *d);

#endif
