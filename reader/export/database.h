/*
 * database.h - a SQLite database that gets its name only when it is complete.
 *
 * It is written under another name in the same folder. database_create(); statements;
 * database_finish() or database_abandon(). Tables of nsys (nsys_tables.def) are made by their first
 * row. Where a function fails, `cause` says why. In a build without SQLite database_create() fails
 * and says so. One thread; allocates; writes files.
 */
#ifndef READER_EXPORT_DATABASE_H
#define READER_EXPORT_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/export/nsys.h"

#define DATABASE_CAUSE_BYTES 200u

struct database {
	void *connection;                /* sqlite3; NULL = closed */
	void *statement;                 /* the one used last */
	char table[96];                  /* the table it is for */
	enum nsys_generation generation; /* of the tables of nsys; set before the first row */
	struct nsys_shape shape;         /* of the table at hand; no columns: not one of nsys */
	char *name, *temporary;
	bool overwrite;
	char cause[DATABASE_CAUSE_BYTES];
};

/* `name` and what will be there: an existing file is an error unless `overwrite`. 0 or a negative
 * errno. */
int database_create(struct database *d, const char *name, bool overwrite);

/* Closes the connection, all rows in the file; opens it again. 0 or a negative errno. */
int database_pause(struct database *d);
int database_resume(struct database *d);

/* Makes a table: of nsys_tables.def when `columns` is NULL. Nothing happens where it is there. 0 or
 * a negative errno. */
int database_table(struct database *d, const char *table, const char *columns);

/* The page that a table begins in, and how many columns it has. 0 or a negative errno. */
int database_root(struct database *d, const char *table, uint32_t *ret_page, uint32_t *ret_columns);

/* Runs SQL without results. 0 or a negative errno. */
int database_run(struct database *d, const char *sql);

/*
 * Adds a row. `form` has a letter for each column: i int64_t, o int and int64_t (NULL where
 * the int is 0), t const char * (NULL is NULL), n NULL without argument. Bytes of a text that are
 * not UTF-8 are written as \xNN: readers of SQLite stop at them. A table of nsys is made if need
 * be; its form is that of all generations, and what the one at hand lacks is left out, as is the
 * row where it lacks the table. 0 or a negative errno.
 */
int database_row(struct database *d, const char *table, const char *form, ...);

/* Closes, and gives the file its name. 0 or a negative errno; -EEXIST: somebody else made one. */
int database_finish(struct database *d);

/* Takes away what was not finished. Nothing where it was. */
void database_abandon(struct database *d);

#endif
