/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.h - a SQLite database that somebody else made, opened to be asked and never to be
 * changed.
 *
 * The file is hostile: it is opened read-only, its own schema may call no function that does
 * anything, nothing can be attached or loaded, texts and statements are bounded, and a corrupt page
 * is an error. Temporary tables and sorts go to unlinked files of SQLite's in TMPDIR.
 *
 * sql_open(); statements; sql_close(). Functions return 0 or a negative errno with the cause (one
 * line) in `cause`; -EINTR where `stop` was set. In a build without SQLite sql_open() fails and
 * says so. One thread; allocates.
 */
#ifndef READER_SQL_CONNECTION_H
#define READER_SQL_CONNECTION_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SQL_CAUSE_BYTES 300u
#define SQL_TEXT_BYTES_MAX (64u << 20) /* of a value; longer ones are an error */

struct sql {
	void *connection;                  /* sqlite3 */
	const volatile sig_atomic_t *stop; /* a statement ends soon after it is set; NULL = none */
	const char *arguments;             /* of the report at hand: "base:rows=10"; or NULL */
	char cause[SQL_CAUSE_BYTES];
};

enum sql_type { SQL_NULL, SQL_INTEGER, SQL_REAL, SQL_TEXT, SQL_BLOB };

struct sql_value {
	enum sql_type type;
	int64_t integer;  /* of SQL_INTEGER */
	double real;      /* of SQL_REAL, and of SQL_INTEGER */
	const char *text; /* UTF-8 of all but SQL_NULL and SQL_BLOB; ends with NUL. Until the next
			     row */
	const void *blob; /* of SQL_BLOB */
	size_t bytes;     /* of text or blob */
};

/* What a statement gives. Functions return 0, or a negative errno that ends it. */
struct sql_visitor {
	void *user;
	int (*columns)(
		void *user, const char *const *names, int count); /* before the rows; or NULL */
	int (*row)(void *user, const struct sql_value *values, int count);
};

/* Does the file begin as a SQLite database does? false also when it cannot be read. */
bool sql_is_database(const char *path);

int sql_open(struct sql *s, const char *path);
void sql_close(struct sql *s);

/* Runs statements of ours, one after the other; rows go to the visitor (NULL: to nobody). */
int sql_run(struct sql *s, const char *text, const struct sql_visitor *visitor);

/* Runs one statement of the user's, which may only read. */
int sql_query(struct sql *s, const char *text, const struct sql_visitor *visitor);

/* 1 if the database itself has this table or view, and it has a column of this name where one is
 * given; 0 if not; a negative errno. */
int sql_has(struct sql *s, const char *table, const char *column);

/* 1 if it has a row, 0 if not or if there is no such table; a negative errno. */
int sql_has_rows(struct sql *s, const char *table);

#endif
