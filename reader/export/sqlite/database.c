/* SPDX-License-Identifier: Apache-2.0 */
/* database.c - connection to SQLite, and insertion of single rows. */
#define _GNU_SOURCE
#include "reader/export/sqlite/database.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef HAVE_SQLITE

int database_create(struct database *d, const char *name, bool overwrite)
{
	(void)name;
	*d = (struct database){.overwrite = overwrite};
	snprintf(d->cause, sizeof(d->cause),
		"built without SQLite; install libsqlite3-dev and rebuild");
	return -ENOSYS;
}

int database_table(struct database *d, const char *table, const char *columns)
{
	(void)d, (void)table, (void)columns;
	return -ENOSYS;
}

int database_columns(struct database *d, const char *table, uint32_t *ret_columns)
{
	(void)d, (void)table, (void)ret_columns;
	return -ENOSYS;
}

int database_row(struct database *d, const char *table, const char *form, ...)
{
	(void)d, (void)table, (void)form;
	return -ENOSYS;
}

int database_run(struct database *d, const char *format, ...)
{
	(void)d, (void)format;
	return -ENOSYS;
}

int database_failed(struct database *d)
{
	(void)d;
	return -ENOSYS;
}

int database_commit(struct database *d)
{
	(void)d;
	return -ENOSYS;
}

int database_finish(struct database *d)
{
	(void)d;
	return -ENOSYS;
}

void database_abandon(struct database *d)
{
	(void)d;
}

#else

#include <sqlite3.h>
#include <stdarg.h>
#include <unistd.h>

#include "reader/export/output.h"
#include "common/utf8.h"

int database_failed(struct database *d)
{
	sqlite3 *c = d->connection;
	int code = c ? sqlite3_errcode(c) & 0xff : SQLITE_NOMEM;
	int system = c ? sqlite3_system_errno(c) : 0;
	if (code == SQLITE_FULL)
		system = ENOSPC;
	if (system && (code == SQLITE_IOERR || code == SQLITE_FULL))
		snprintf(d->cause, sizeof(d->cause), "%s", strerror(system));
	else
		snprintf(d->cause, sizeof(d->cause), "%s", c ? sqlite3_errmsg(c) : "out of memory");
	return code == SQLITE_NOMEM ? -ENOMEM : code == SQLITE_FULL ? -ENOSPC : -EIO;
}

static int failed_system(struct database *d, int error)
{
	snprintf(d->cause, sizeof(d->cause), "%s", strerror(error));
	return -error;
}

static void statement_end(struct database *d)
{
	sqlite3_finalize(d->statement);
	d->statement = NULL;
	*d->table = 0;
}

/* Execute SQL that returns no rows. */
static int run(struct database *d, const char *sql)
{
	statement_end(d);
	return sqlite3_exec(d->connection, sql, NULL, NULL, NULL) ? database_failed(d) : 0;
}

int database_run(struct database *d, const char *format, ...)
{
	char sql[2048];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(sql, sizeof(sql), format, arguments);
	va_end(arguments);
	return run(d, sql);
}

/* Open the temporary file and begin the transaction. */
static int connection_open(struct database *d)
{
	sqlite3 *c = NULL;
	int code = sqlite3_open_v2(
		d->temporary, &c, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	d->connection = c;
	if (code)
		return database_failed(d);
	return run(d,
		"PRAGMA page_size=4096;PRAGMA auto_vacuum=NONE;PRAGMA encoding='UTF-8';"
		"PRAGMA journal_mode=OFF;PRAGMA synchronous=OFF;PRAGMA locking_mode=EXCLUSIVE;"
		"PRAGMA cache_size=-2048;BEGIN");
}

int database_create(struct database *d, const char *name, bool overwrite)
{
	*d = (struct database){.overwrite = overwrite, .name = strdup(name)};
	if (!d->name)
		return failed_system(d, ENOMEM);
	if (output_is_special(name)) {
		snprintf(d->cause, sizeof(d->cause), "it is not a regular file");
		return -EINVAL;
	}
	int fd = output_begin(name, overwrite, &d->temporary);
	if (fd < 0)
		return failed_system(d, -fd);
	close(fd);
	return connection_open(d);
}

/* Look up the columns of a table of nsys; none if this generation has no such table. */
static void shape_find(struct database *d, const char *table)
{
	enum nsys_table number = nsys_table_named(table);
	d->shape.columns = 0;
	if (number != NSYS_TABLES)
		nsys_table_shape(number, d->generation, d->nullable[number], &d->shape);
}

int database_table(struct database *d, const char *table, const char *columns)
{
	if (!columns)
		shape_find(d, table);
	if (!columns && !d->shape.columns)
		return failed_system(d, EINVAL);
	char *sql = sqlite3_mprintf("CREATE TABLE IF NOT EXISTS \"%w\" (%s)",
		columns ? table : nsys_table_name(nsys_table_named(table), d->generation),
		columns ? columns : d->shape.sql);
	int error = sql ? run(d, sql) : failed_system(d, ENOMEM);
	sqlite3_free(sql);
	return error;
}

int database_columns(struct database *d, const char *table, uint32_t *ret_columns)
{
	sqlite3_stmt *s = NULL;
	int error = 0;
	char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", table);
	if (!sql || sqlite3_prepare_v2(d->connection, sql, -1, &s, NULL))
		error = database_failed(d);
	*ret_columns = error ? 0 : (uint32_t)sqlite3_column_count(s);
	sqlite3_finalize(s);
	sqlite3_free(sql);
	return error;
}

/* Prepare the statement for rows of a table, which becomes the current table. */
static int prepare(struct database *d, const char *table, size_t columns)
{
	char marks[2 * NSYS_COLUMNS] = "?", *sql;
	sqlite3_stmt *s = NULL;
	statement_end(d);
	const enum nsys_table number = nsys_table_named(table);
	const bool of_nsys = number != NSYS_TABLES;
	shape_find(d, table);
	int error = d->shape.columns ? database_table(d, table, NULL) : 0;
	snprintf(d->table, sizeof(d->table), "%s", error ? "" : table);
	if (error || (of_nsys && !d->shape.columns))
		return error;
	columns = of_nsys ? d->shape.columns : columns;
	for (size_t i = 1; i < columns && 2 * i + 1 < sizeof(marks); i++)
		memcpy(marks + 2 * i - 1, ",?", 3);
	sql = sqlite3_mprintf("INSERT INTO \"%w\" VALUES (%s)",
		of_nsys ? nsys_table_name(number, d->generation) : table, marks);
	if (!sql || sqlite3_prepare_v2(d->connection, sql, -1, &s, NULL))
		error = database_failed(d);
	sqlite3_free(sql);
	d->statement = s;
	if (error)
		*d->table = 0;
	return error;
}

/* Return the number, from 1, of the column for the value at an index of the form; 0 if the
 * generation has no such column. */
static int column_of_value(const struct database *d, int index)
{
	if (!d->shape.columns)
		return index + 1;
	for (uint32_t i = 0; i < d->shape.columns; i++)
		if (d->shape.places[i] == index)
			return (int)i + 1;
	return 0;
}

static int bind_text(sqlite3_stmt *s, int column, const char *text)
{
	if (!text)
		return sqlite3_bind_null(s, column);
	size_t bytes = strlen(text), clean_bytes = utf8_clean_bytes(text, bytes);
	if (clean_bytes == bytes)
		return sqlite3_bind_text(s, column, text, -1, SQLITE_TRANSIENT);
	char *clean = sqlite3_malloc64(clean_bytes + 1);
	if (!clean)
		return SQLITE_NOMEM;
	utf8_clean(text, bytes, clean);
	return sqlite3_bind_text(s, column, clean, -1, sqlite3_free);
}

static int value_bind(sqlite3_stmt *s, int column, char letter, va_list *arguments)
{
	int known = letter == 'o' ? va_arg(*arguments, int) : 1;
	int64_t number = letter == 'o' || letter == 'i' ? va_arg(*arguments, int64_t) : 0;
	const char *text = letter == 't' ? va_arg(*arguments, const char *) : NULL;
	if (!column)
		return 0;
	if (letter == 't')
		return bind_text(s, column, text);
	return letter == 'n' || !known ? sqlite3_bind_null(s, column)
				       : sqlite3_bind_int64(s, column, number);
}

int database_row(struct database *d, const char *table, const char *form, ...)
{
	va_list arguments;
	int error = 0, code = 0;
	if (strcmp(d->table, table))
		error = prepare(d, table, strlen(form));
	sqlite3_stmt *s = d->statement;
	if (error || !s)
		return error;
	va_start(arguments, form);
	for (int i = 0; form[i] && !code; i++)
		code = value_bind(s, column_of_value(d, i), form[i], &arguments);
	va_end(arguments);
	if (code || sqlite3_step(s) != SQLITE_DONE)
		error = database_failed(d);
	sqlite3_reset(s);
	return error;
}

int database_commit(struct database *d)
{
	int error = run(d, "COMMIT");
	return error ? error : run(d, "BEGIN");
}

int database_finish(struct database *d)
{
	int error = run(d, "COMMIT");
	sqlite3_close(d->connection);
	d->connection = NULL;
	if (error)
		return error;
	error = output_end(d->temporary, d->name, d->overwrite);
	if (error)
		return failed_system(d, -error);
	free(d->temporary);
	d->temporary = NULL;
	return 0;
}

void database_abandon(struct database *d)
{
	statement_end(d);
	sqlite3_close(d->connection);
	if (d->temporary)
		unlink(d->temporary);
	free(d->temporary);
	free(d->name);
	d->connection = NULL;
	d->temporary = d->name = NULL;
}

#endif
