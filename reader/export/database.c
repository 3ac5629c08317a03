#define _GNU_SOURCE
#include "reader/export/database.h"

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
		"this build is without SQLite (package libsqlite3-dev, then make)");
	return -ENOSYS;
}

int database_pause(struct database *d)
{
	(void)d;
	return -ENOSYS;
}

int database_resume(struct database *d)
{
	(void)d;
	return -ENOSYS;
}

int database_table(struct database *d, const char *table, const char *columns)
{
	(void)d, (void)table, (void)columns;
	return -ENOSYS;
}

int database_root(struct database *d, const char *table, uint32_t *ret_page, uint32_t *ret_columns)
{
	(void)d, (void)table, (void)ret_page, (void)ret_columns;
	return -ENOSYS;
}

int database_run(struct database *d, const char *sql)
{
	(void)d, (void)sql;
	return -ENOSYS;
}

int database_row(struct database *d, const char *table, const char *form, ...)
{
	(void)d, (void)table, (void)form;
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

#include <fcntl.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <unistd.h>

static const struct {
	const char *name, *columns;
} tables[] = {
#define TABLE(name, columns) {#name, columns},
#include "reader/export/nsys_tables.def"
};

/* The errno that is nearest to what SQLite says. */
static int failed(struct database *d)
{
	sqlite3 *c = d->connection;
	int code = c ? sqlite3_errcode(c) & 0xff : SQLITE_NOMEM;
	int system = c ? sqlite3_system_errno(c) : 0;
	if (code == SQLITE_IOERR && system)
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

int database_run(struct database *d, const char *sql)
{
	statement_end(d);
	return sqlite3_exec(d->connection, sql, NULL, NULL, NULL) ? failed(d) : 0;
}

int database_resume(struct database *d)
{
	sqlite3 *c = NULL;
	int code = sqlite3_open_v2(
		d->temporary, &c, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	d->connection = c;
	if (code)
		return failed(d);
	return database_run(d,
		"PRAGMA page_size=4096;PRAGMA auto_vacuum=NONE;PRAGMA encoding='UTF-8';"
		"PRAGMA journal_mode=OFF;PRAGMA synchronous=OFF;PRAGMA locking_mode=EXCLUSIVE;"
		"PRAGMA cache_size=-16384;BEGIN");
}

int database_pause(struct database *d)
{
	int error = database_run(d, "COMMIT");
	sqlite3_close(d->connection);
	d->connection = NULL;
	return error;
}

int database_create(struct database *d, const char *name, bool overwrite)
{
	*d = (struct database){.overwrite = overwrite, .name = strdup(name)};
	if (!d->name || asprintf(&d->temporary, "%s.XXXXXX", name) < 0) {
		d->temporary = NULL;
		return failed_system(d, ENOMEM);
	}
	if (!overwrite && !access(name, F_OK))
		return failed_system(d, EEXIST);
	int fd = mkostemp(d->temporary, O_CLOEXEC);
	if (fd < 0) {
		int error = failed_system(d, errno);
		free(d->temporary);
		d->temporary = NULL;
		return error;
	}
	close(fd);
	return database_resume(d);
}

static const char *columns_of(const char *table)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (!strcmp(tables[i].name, table))
			return tables[i].columns;
	return NULL;
}

int database_table(struct database *d, const char *table, const char *columns)
{
	columns = columns ? columns : columns_of(table);
	char *sql = columns
		? sqlite3_mprintf("CREATE TABLE IF NOT EXISTS \"%w\" (%s)", table, columns)
		: NULL;
	int error = sql ? database_run(d, sql) : failed_system(d, columns ? ENOMEM : EINVAL);
	sqlite3_free(sql);
	return error;
}

int database_root(struct database *d, const char *table, uint32_t *ret_page, uint32_t *ret_columns)
{
	sqlite3_stmt *s = NULL;
	int error = 0;
	statement_end(d);
	if (sqlite3_prepare_v2(d->connection,
		    "SELECT rootpage, (SELECT count(*) FROM pragma_table_info(?1)) "
		    "FROM sqlite_master WHERE type = 'table' AND name = ?1",
		    -1, &s, NULL) ||
		sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC) || sqlite3_step(s) != SQLITE_ROW)
		error = failed(d);
	if (!error) {
		*ret_page = (uint32_t)sqlite3_column_int64(s, 0);
		*ret_columns = (uint32_t)sqlite3_column_int64(s, 1);
	}
	sqlite3_finalize(s);
	return error;
}

static int prepare(struct database *d, const char *table, size_t columns)
{
	char marks[64] = "?", *sql;
	statement_end(d);
	for (size_t i = 1; i < columns && 2 * i + 2 < sizeof(marks); i++)
		memcpy(marks + 2 * i - 1, ",?", 3);
	int error = columns_of(table) ? database_table(d, table, NULL) : 0;
	sql = error ? NULL : sqlite3_mprintf("INSERT INTO \"%w\" VALUES (%s)", table, marks);
	sqlite3_stmt *s = NULL;
	if (!error && (!sql || sqlite3_prepare_v2(d->connection, sql, -1, &s, NULL)))
		error = failed(d);
	sqlite3_free(sql);
	d->statement = s;
	snprintf(d->table, sizeof(d->table), "%s", error ? "" : table);
	return error;
}

/* Length of the UTF-8 character at `t`, 0 where there is none. */
static size_t character_bytes(const unsigned char *t)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	if (*t < 0x80)
		return 1;
	size_t bytes = *t >= 0xf8 ? 0 : *t >= 0xf0 ? 4 : *t >= 0xe0 ? 3 : *t >= 0xc2 ? 2 : 0;
	uint32_t number = bytes ? *t & (0xffu >> (bytes + 1)) : 0;
	for (size_t i = 1; i < bytes; i++) {
		if ((t[i] & 0xc0) != 0x80)
			return 0;
		number = number << 6 | (t[i] & 0x3f);
	}
	bool fits = bytes && number >= least[bytes] && number <= 0x10ffff &&
		(number < 0xd800 || number > 0xdfff);
	return fits ? bytes : 0;
}

static int bind_text(sqlite3_stmt *s, int place, const char *text)
{
	const unsigned char *t = (const unsigned char *)text;
	size_t bad = 0, n;
	if (!text)
		return sqlite3_bind_null(s, place);
	for (; *t; t += n ? n : 1) {
		n = character_bytes(t);
		bad += !n;
	}
	if (!bad)
		return sqlite3_bind_text(s, place, text, -1, SQLITE_TRANSIENT);
	char *clean = sqlite3_malloc64(strlen(text) + 3 * bad + 1), *out = clean;
	if (!clean)
		return SQLITE_NOMEM;
	for (t = (const unsigned char *)text; *t; t += n ? n : 1) {
		n = character_bytes(t);
		if (n)
			out = mempcpy(out, t, n);
		else
			out += sprintf(out, "\\x%02x", *t);
	}
	*out = 0;
	return sqlite3_bind_text(s, place, clean, -1, sqlite3_free);
}

int database_row(struct database *d, const char *table, const char *form, ...)
{
	va_list arguments;
	int error = 0, code = 0;
	if (strcmp(d->table, table))
		error = prepare(d, table, strlen(form));
	if (error)
		return error;
	sqlite3_stmt *s = d->statement;
	va_start(arguments, form);
	for (int i = 0; form[i] && !code; i++) {
		if (form[i] == 'o')
			code = va_arg(arguments, int)
				? sqlite3_bind_int64(s, i + 1, va_arg(arguments, int64_t))
				: (va_arg(arguments, int64_t), sqlite3_bind_null(s, i + 1));
		else if (form[i] == 'i')
			code = sqlite3_bind_int64(s, i + 1, va_arg(arguments, int64_t));
		else if (form[i] == 't')
			code = bind_text(s, i + 1, va_arg(arguments, const char *));
		else
			code = sqlite3_bind_null(s, i + 1);
	}
	va_end(arguments);
	if (code || sqlite3_step(s) != SQLITE_DONE)
		error = failed(d);
	sqlite3_reset(s);
	return error;
}

/* The rows are on the disk before the name is. */
static int give_name(struct database *d)
{
	int fd = open(d->temporary, O_RDONLY | O_CLOEXEC);
	int error = fd < 0 || fsync(fd) ? errno : 0;
	if (fd >= 0)
		close(fd);
	if (error)
		return failed_system(d, error);
	if (d->overwrite)
		error = rename(d->temporary, d->name) ? errno : 0;
	else if (renameat2(AT_FDCWD, d->temporary, AT_FDCWD, d->name, RENAME_NOREPLACE))
		error = errno;
	if (error == EINVAL || error == ENOSYS) /* a file system without it */
		error = link(d->temporary, d->name) || unlink(d->temporary) ? errno : 0;
	return error ? failed_system(d, error) : 0;
}

int database_finish(struct database *d)
{
	int error = database_pause(d);
	if (!error)
		error = give_name(d);
	if (!error) {
		free(d->temporary);
		d->temporary = NULL;
	}
	return error;
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
