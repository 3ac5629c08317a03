/* SPDX-License-Identifier: Apache-2.0 */
/*
 * virtual_table.h - what the virtual tables of this folder have in common: eponymous tables that
 * are computed from other tables of the connection.
 */
#ifndef READER_SQL_VIRTUAL_TABLE_H
#define READER_SQL_VIRTUAL_TABLE_H

#ifdef HAVE_SQLITE

#include <sqlite3.h>
#include <stddef.h>

/* A kind of table: the user data of its module. */
struct virtual_kind {
	const char *declaration; /* CREATE TABLE x (...) */
	size_t cursor_bytes;     /* of its cursors, which begin with a sqlite3_vtab_cursor */
};

struct virtual_table {
	sqlite3_vtab base;
	sqlite3 *connection;
	const struct virtual_kind *kind;
};

/* Methods of a module whose user data is a struct virtual_kind. virtual_table_open() allocates the
 * cursor by calloc(). */
int virtual_table_connect(sqlite3 *connection, void *kind, int count, const char *const *words,
	sqlite3_vtab **ret_table, char **ret_message);
int virtual_table_disconnect(sqlite3_vtab *table);
int virtual_table_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor);

/* Keep the connection's message of an error other than SQLITE_NOMEM. Return `code`. */
int virtual_table_failed(sqlite3_vtab_cursor *cursor, int code);

#endif

#endif
