/* SPDX-License-Identifier: Apache-2.0 */
/* connection.c - connection to a SQLite database, and statements that only read. */
#define _GNU_SOURCE
#include "reader/sql/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/sql/call_words.h"
#include "reader/sql/path/tables.h"
#include "reader/sql/functions.h"
#include "reader/sql/opencl_names.h"
#include "reader/sql/range_sweep.h"

static const char magic[16] = "SQLite format 3";

bool sql_is_database(const char *path)
{
	char head[sizeof(magic)];
	struct stat about;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* `path` may be a pipe */
	bool same = fd >= 0 && !fstat(fd, &about) && S_ISREG(about.st_mode) &&
		pread(fd, head, sizeof(head), 0) == sizeof(head) &&
		!memcmp(head, magic, sizeof(head));
	if (fd >= 0)
		close(fd);
	return same;
}

#ifndef HAVE_SQLITE

int sql_open(struct sql *s, const char *path)
{
	(void)path;
	*s = (struct sql){0};
	snprintf(s->cause, sizeof(s->cause),
		"built without SQLite; install libsqlite3-dev and rebuild");
	return -ENOSYS;
}

void sql_close(struct sql *s)
{
	(void)s;
}

int sql_run(struct sql *s, const char *text, const struct sql_visitor *visitor)
{
	(void)s, (void)text, (void)visitor;
	return -ENOSYS;
}

int sql_query(struct sql *s, const char *text, const struct sql_visitor *visitor)
{
	(void)s, (void)text, (void)visitor;
	return -ENOSYS;
}

int sql_has(struct sql *s, const char *table, const char *column)
{
	(void)s, (void)table, (void)column;
	return -ENOSYS;
}

int sql_has_rows(struct sql *s, const char *table)
{
	(void)s, (void)table;
	return -ENOSYS;
}

#else

#include <sqlite3.h>

#define COLUMNS_MAX 2000
#define SQL_BYTES_MAX (1 << 20)
#define STEPS_BETWEEN_LOOKS 100000
#define CACHE_KIB 32768

/* Store SQLite's error message as one line in s->cause. Returns the closest negative errno. */
static int failed(struct sql *s)
{
	int code = s->connection ? sqlite3_errcode(s->connection) & 0xff : SQLITE_NOMEM;
	int system = s->connection ? sqlite3_system_errno(s->connection) : 0;
	const char *message = s->connection ? sqlite3_errmsg(s->connection) : "out of memory";
	bool system_knows = system && (code == SQLITE_IOERR || code == SQLITE_CANTOPEN);
	message = code == SQLITE_AUTH ? "only read-only statements are allowed" : message;
	snprintf(s->cause, sizeof(s->cause), "%s", system_knows ? strerror(system) : message);
	for (char *c = s->cause; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
	return s->lacks_column                                    ? -ENODATA
		: code == SQLITE_NOMEM                            ? -ENOMEM
		: code == SQLITE_INTERRUPT                        ? -EINTR
		: code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? -EBADMSG
								  : -EIO;
}

static int refused(struct sql *s, const char *cause)
{
	snprintf(s->cause, sizeof(s->cause), "%s", cause);
	return -EINVAL;
}

static int look(void *user)
{
	const struct sql *s = user;
	return s->stop && *s->stop;
}

static void limits_set(sqlite3 *c)
{
	static const struct {
		int what, most;
	} limits[] = {
		{SQLITE_LIMIT_LENGTH, SQL_TEXT_BYTES_MAX},
		{SQLITE_LIMIT_SQL_LENGTH, SQL_BYTES_MAX},
		{SQLITE_LIMIT_EXPR_DEPTH, 200},
		{SQLITE_LIMIT_COLUMN, COLUMNS_MAX},
		{SQLITE_LIMIT_ATTACHED, 0}, /* no ATTACH, no VACUUM INTO */
		{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
		{SQLITE_LIMIT_TRIGGER_DEPTH, 1},
		{SQLITE_LIMIT_WORKER_THREADS, 0},
	};
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		sqlite3_limit(c, limits[i].what, limits[i].most);
	sqlite3_db_config(c, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(c, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(c, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(c, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_db_config(c, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(c, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
}

/* Return the URI of a database, for sqlite3_free(). If a log or journal is next to the file, SQLite
 * applies its changes; otherwise the file is opened as immutable, so that SQLite creates no file
 * next to it. */
static char *address_of(const char *path)
{
	static const char *const beside[] = {"-wal", "-journal"};
	bool alone = true;
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		char *name = sqlite3_mprintf("%s%s", path, beside[i]);
		FILE *file = name ? fopen(name, "re") : NULL;
		alone &= !file;
		if (file)
			fclose(file);
		sqlite3_free(name);
	}
	sqlite3_str *address = sqlite3_str_new(NULL);
	sqlite3_str_appendall(address, "file:");
	for (const char *c = path; *c; c++)
		if (strchr("%?#", *c))
			sqlite3_str_appendf(address, "%%%02X", (unsigned char)*c);
		else
			sqlite3_str_appendchar(address, 1, *c);
	sqlite3_str_appendall(address, alone ? "?mode=ro&immutable=1" : "?mode=ro");
	return sqlite3_str_finish(address);
}

int sql_open(struct sql *s, const char *path)
{
	sqlite3 *c = NULL;
	char *address = address_of(path), *pragmas = NULL;
	*s = (struct sql){0};
	/* no lock for each allocation; refused, without harm, after the first connection */
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	int code = address
		? sqlite3_open_v2(address, &c,
			  SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL)
		: SQLITE_NOMEM;
	sqlite3_free(address);
	s->connection = c;
	int error = code ? failed(s) : 0;
	if (!error) {
		limits_set(c);
		sqlite3_progress_handler(c, STEPS_BETWEEN_LOOKS, look, s);
		error = functions_add(s);
		error = error ? error : range_sweep_add(s);
		error = error ? error : call_words_add(s);
		error = error ? error : path_tables_add(s);
		error = error ? error : opencl_names_add(s);
	}
	if (!error) {
		pragmas = sqlite3_mprintf(
			"PRAGMA mmap_size=0;PRAGMA cell_size_check=ON;PRAGMA temp_store=FILE;"
			"PRAGMA cache_size=-%d;SELECT count(*) FROM sqlite_master",
			CACHE_KIB);
		error = pragmas ? sql_run(s, pragmas, NULL) : -ENOMEM;
	}
	sqlite3_free(pragmas);
	if (error) {
		sqlite3_close(s->connection);
		s->connection = NULL;
	}
	return error;
}

void sql_close(struct sql *s)
{
	sqlite3_close(s->connection);
	s->connection = NULL;
}

static struct sql_value value_of(sqlite3_stmt *statement, int column, bool is_number)
{
	struct sql_value v = {0};
	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_INTEGER:
		v.type = SQL_INTEGER;
		v.integer = sqlite3_column_int64(statement, column);
		v.real = (double)v.integer;
		break;
	case SQLITE_FLOAT:
		v.type = SQL_REAL;
		v.real = sqlite3_column_double(statement, column);
		if (is_number)
			return v;
		break;
	case SQLITE_TEXT:
		v.type = SQL_TEXT;
		break;
	case SQLITE_BLOB:
		v.type = SQL_BLOB;
		v.blob = sqlite3_column_blob(statement, column);
		break;
	default:
		return v;
	}
	if (v.type != SQL_BLOB)
		v.text = (const char *)sqlite3_column_text(statement, column);
	v.bytes = (size_t)sqlite3_column_bytes(statement, column);
	return v;
}

static int columns_visit(sqlite3_stmt *statement, int count, const struct sql_visitor *visitor)
{
	const char *names[COLUMNS_MAX];
	for (int i = 0; i < count; i++) {
		names[i] = sqlite3_column_name(statement, i);
		names[i] = names[i] ? names[i] : "";
	}
	return visitor->columns(visitor->user, names, count);
}

/* Run a statement to its end. An error of the visitor is returned without a cause. */
static int steps(struct sql *s, sqlite3_stmt *statement, const struct sql_visitor *visitor)
{
	struct sql_value values[COLUMNS_MAX];
	int count = sqlite3_column_count(statement), code, error = 0;
	if (count > COLUMNS_MAX)
		return refused(s, "too many columns");
	if (count && visitor && visitor->columns)
		error = columns_visit(statement, count, visitor);
	while (!error && (code = sqlite3_step(statement)) != SQLITE_DONE) {
		if (code != SQLITE_ROW)
			return failed(s);
		if (!visitor)
			continue;
		for (int i = 0; i < count; i++) {
			bool is_number = i < 64 && s->numbers >> i & 1;
			values[i] = value_of(statement, i, is_number);
			if (values[i].type > SQL_NULL && values[i].type != SQL_BLOB &&
				!values[i].text && !(is_number && values[i].type == SQL_REAL))
				return failed(s);
		}
		error = visitor->row(visitor->user, values, count);
	}
	return error;
}

int sql_run(struct sql *s, const char *text, const struct sql_visitor *visitor)
{
	int error = 0;
	*s->cause = 0;
	s->lacks_column = false;
	while (!error && *text) {
		sqlite3_stmt *statement = NULL;
		if (sqlite3_prepare_v2(s->connection, text, -1, &statement, &text))
			error = failed(s);
		else if (statement)
			error = steps(s, statement, visitor);
		sqlite3_finalize(statement);
	}
	return error;
}

/* Allow only operations that read. A pragma with a value could change how the file is read. */
static int allow(void *user, int action, const char *a, const char *b, const char *schema,
	const char *trigger)
{
	static const char *const harmless[] = {"table_info", "table_xinfo", "table_list",
		"index_list", "index_info", "index_xinfo", "foreign_key_list", "database_list",
		"integrity_check", "quick_check", "compile_options", "function_list"};
	(void)user, (void)schema, (void)trigger;
	if (action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION ||
		action == SQLITE_RECURSIVE)
		return SQLITE_OK;
	for (size_t i = 0; action == SQLITE_PRAGMA && a && i < sizeof(harmless) / sizeof(*harmless);
		i++)
		if (!sqlite3_stricmp(a, harmless[i]))
			return SQLITE_OK;
	/* a pragma without a value only reads a setting */
	return action == SQLITE_PRAGMA && !b ? SQLITE_OK : SQLITE_DENY;
}

int sql_query(struct sql *s, const char *text, const struct sql_visitor *visitor)
{
	sqlite3_stmt *statement = NULL, *more = NULL;
	const char *rest = "";
	int error = 0;
	*s->cause = 0;
	s->lacks_column = false;
	sqlite3_set_authorizer(s->connection, allow, NULL);
	if (sqlite3_prepare_v2(s->connection, text, -1, &statement, &rest))
		error = failed(s);
	else if (!statement)
		error = refused(s, "the statement is empty");
	else if (sqlite3_prepare_v2(s->connection, rest, -1, &more, NULL) || more)
		error = refused(s, "only one statement is allowed");
	else if (!sqlite3_stmt_readonly(statement))
		error = refused(s, "only read-only statements are allowed");
	else
		error = steps(s, statement, visitor);
	sqlite3_finalize(more);
	sqlite3_finalize(statement);
	sqlite3_set_authorizer(s->connection, NULL, NULL);
	return error;
}

static int found(void *user, const struct sql_value *values, int count)
{
	(void)values, (void)count;
	*(int *)user = 1;
	return 0;
}

/* Run a statement and free its text. Returns 1 if there is a row, 0 if not, or a negative errno. */
static int any_row(struct sql *s, char *text)
{
	int any = 0;
	const struct sql_visitor visitor = {&any, NULL, found};
	int error = text ? sql_run(s, text, &visitor) : -ENOMEM;
	sqlite3_free(text);
	return error ? error : any;
}

int sql_has(struct sql *s, const char *table, const char *column)
{
	return any_row(s,
		column ? sqlite3_mprintf("SELECT 1 FROM pragma_table_info(%Q, 'main') WHERE name = "
					 "%Q COLLATE NOCASE",
				 table, column)
		       : sqlite3_mprintf("SELECT 1 FROM main.sqlite_master WHERE type IN ('table', "
					 "'view') AND name = %Q COLLATE NOCASE",
				 table));
}

int sql_has_rows(struct sql *s, const char *table)
{
	int has = sql_has(s, table, NULL);
	return has > 0 ? any_row(s, sqlite3_mprintf("SELECT 1 FROM main.\"%w\" LIMIT 1", table))
		       : has;
}

#endif
