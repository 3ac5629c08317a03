/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.h - connection to an untrusted SQLite database, opened for queries and never modified.
 *
 * The file may be hostile: it is opened read-only, its own schema may call no function with side
 * effects, nothing can be attached or loaded, texts and statements have size limits, and a corrupt
 * page is an error. Temporary tables and sorts use unlinked files that SQLite creates in TMPDIR.
 *
 * sql_open(); statements; sql_close(). Functions return 0 or a negative errno with the cause (one
 * line) in `cause`; -EINTR after `stop` was set, -ENODATA if a column is missing that a figure
 * depends on. In a build without SQLite, sql_open() fails with such a cause. One thread; allocates.
 */
#ifndef READER_SQL_CONNECTION_H
#define READER_SQL_CONNECTION_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SQL_CAUSE_BYTES 300u
#define SQL_TEXT_BYTES_MAX (64u << 20) /* maximum size of a value; longer values are an error */

struct sql {
	void *connection;                  /* sqlite3 */
	const volatile sig_atomic_t *stop; /* a statement ends soon after it is set; NULL = none */
	const char *arguments; /* arguments of the current report, "base:rows=10"; or NULL */
	uint64_t numbers;      /* bit n: column n needs no `text` for SQL_REAL, so it is NULL */
	bool gpus_differ;  /* a process has another number for a GPU: views have that of the GPU */
	bool lacks_column; /* the last statement failed because a column is not in the database */
	char cause[SQL_CAUSE_BYTES];
};

enum sql_type { SQL_NULL, SQL_INTEGER, SQL_REAL, SQL_TEXT, SQL_BLOB };

struct sql_value {
	enum sql_type type;
	int64_t integer;  /* value of SQL_INTEGER */
	double real;      /* value of SQL_REAL and SQL_INTEGER */
	const char *text; /* UTF-8, terminated by NUL, except for SQL_NULL and SQL_BLOB; valid until
			     the next row */
	const void *blob; /* value of SQL_BLOB */
	size_t bytes;     /* size of `text` or `blob` */
};

/* Receiver of the results of a statement. Functions return 0, or a negative errno that stops it. */
struct sql_visitor {
	void *user;
	int (*columns)(
		void *user, const char *const *names, int count); /* before the rows; may be NULL */
	int (*row)(void *user, const struct sql_value *values, int count);
};

/* Return true if the file begins like a SQLite database; false also if it cannot be read. */
bool sql_is_database(const char *path);

/* Open the database `path`. Returns 0 or a negative errno. */
int sql_open(struct sql *s, const char *path);
/* Close the database. */
void sql_close(struct sql *s);

/* Run statements of this project, one after the other; rows are passed to the visitor (NULL:
 * discarded). */
int sql_run(struct sql *s, const char *text, const struct sql_visitor *visitor);

/* Run one statement of the user, which may only read. */
int sql_query(struct sql *s, const char *text, const struct sql_visitor *visitor);

/* Return 1 if the database itself has this table or view and, unless `column` is NULL, a column of
 * this name; 0 if not; or a negative errno. */
int sql_has(struct sql *s, const char *table, const char *column);

/* Return 1 if the table has a row; 0 if not, or if there is no such table; or a negative errno. */
int sql_has_rows(struct sql *s, const char *table);

#endif
