/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_sqlite.c - tests of the SQLite export: its tables and databases, read by SQLite
 * itself.
 */
#define _GNU_SOURCE
#include "tests/unit/tap.h"

#ifndef HAVE_SQLITE

int main(void)
{
	printf("1..0 # SKIP no SQLite in this build\n");
	return 0;
}

#else

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/export/sqlite/bulk_table.h"
#include "reader/export/sqlite/database.h"

static char folder[] = "/tmp/test_reader_sqlite.XXXXXX";
static char path[64];

static void die(const char *what)
{
	printf("Bail out! %s\n", what);
	exit(1);
}

/* Return the number that a query gives; or -1 if the query fails, with the message on stderr. */
static int64_t query(const char *sql)
{
	sqlite3 *c = NULL;
	sqlite3_stmt *s = NULL;
	int64_t number = -1;
	if (!sqlite3_open(path, &c) && !sqlite3_prepare_v2(c, sql, -1, &s, NULL) &&
		sqlite3_step(s) == SQLITE_ROW)
		number = sqlite3_column_int64(s, 0);
	else
		fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(c));
	sqlite3_finalize(s);
	sqlite3_close(c);
	return number;
}

static int64_t is_whole(void)
{
	return query("SELECT integrity_check = 'ok' FROM pragma_integrity_check");
}

/* Return the value that the tests below write at a row and column. */
static int64_t value_of(uint64_t row, uint32_t column)
{
	uint64_t bits = (row * 31 + column * 7) % 64, one = UINT64_C(1) << bits;
	switch ((row + row / 64 + column) % 4) {
	case 0:
		return (int64_t)(one - 1);
	case 1:
		return (int64_t)one;
	case 2:
		return (int64_t)(0 - one);
	default:
		return (int64_t)~one;
	}
}

struct made {
	struct database database;
	struct bulk_table table;
};

static void begin(struct made *m, const char *columns)
{
	snprintf(path, sizeof(path), "%s/table.sqlite", folder);
	unlink(path);
	*m = (struct made){0};
	if (database_create(&m->database, path, true) ||
		bulk_table_begin(&m->table, &m->database, "t", columns))
		die("no database");
}

static void end(struct made *m)
{
	if (bulk_table_end(&m->table) ||
		database_row(&m->database, "StringIds", "it", INT64_C(0), "after the rows") ||
		database_finish(&m->database))
		die("not finished");
	bulk_table_release(&m->table);
	database_abandon(&m->database);
}

static void rows(struct made *m, uint64_t count, uint32_t columns)
{
	int64_t values[NSYS_COLUMNS];
	for (uint64_t row = 1; row <= count; row++) {
		for (uint32_t i = 0; i < columns; i++)
			values[i] = value_of(row, i);
		if (bulk_table_numbers(&m->table, values, row % 5 ? 0 : 2))
			die("row");
	}
}

/* Count the rows whose columns differ from the written values. */
static int64_t differing(uint64_t count, uint32_t columns)
{
	sqlite3 *c = NULL;
	sqlite3_stmt *s = NULL;
	int64_t wrong = 0;
	uint64_t row = 0;
	sqlite3_open(path, &c);
	sqlite3_prepare_v2(c, "SELECT rowid, * FROM t ORDER BY rowid", -1, &s, NULL);
	while (s && sqlite3_step(s) == SQLITE_ROW) {
		row++;
		wrong += (uint64_t)sqlite3_column_int64(s, 0) != row;
		for (uint32_t i = 0; i < columns; i++)
			if (i == 1 && row % 5 == 0)
				wrong += sqlite3_column_type(s, 2) != SQLITE_NULL;
			else
				wrong += sqlite3_column_int64(s, (int)i + 1) != value_of(row, i);
	}
	sqlite3_finalize(s);
	sqlite3_close(c);
	return wrong + (row != count);
}

/* Write numbers of rows around those at which a statement is full. A statement holds 41 rows of 24
 * columns. */
static void counts(void)
{
	struct made m;
	char columns[24 * 16] = "";
	static const uint64_t each[] = {1, 2, 40, 41, 42, 82, 99, 100, 101, 200, 5000, 60000};
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		begin(&m, "a INTEGER, b INTEGER, c INTEGER");
		rows(&m, each[i], 3);
		check(m.table.rows == each[i], "the table counts %llu rows",
			(unsigned long long)each[i]);
		end(&m);
		int64_t wrong = differing(each[i], 3);
		check(is_whole() == 1 && !wrong, "all rows are read back");
	}
	check(query("SELECT count(*) FROM StringIds") == 1, "a second table has its row");
	check(query("SELECT max(a) = 9223372036854775807 AND min(a) < -9223372036854775807 FROM t"),
		"the greatest and least integers are written");
	for (uint32_t i = 0; i < 24; i++)
		sprintf(columns + strlen(columns), "%sc%u INTEGER", i ? "," : "", i);
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		begin(&m, columns);
		rows(&m, each[i], 24);
		end(&m);
		check(!differing(each[i], 24), "%llu rows of 24 columns are written",
			(unsigned long long)each[i]);
	}
	begin(&m, "a INTEGER");
	end(&m);
	check(query("SELECT count(*) FROM sqlite_master WHERE name = 't'") == 0,
		"a table without rows is not created");
}

/* Write a column whose values return to one that was bound earlier, and change their type. */
static void changing_kinds(void)
{
	struct made m;
	begin(&m, "a, b");
	for (uint64_t row = 1; row <= 1000; row++) {
		const uint64_t turn = row / 250 + row % 3;
		const struct cell values[] = {{CELL_INTEGER, 0, {.integer = (int64_t)row}},
			turn % 4 == 0           ? (struct cell){CELL_INTEGER, 0, {.integer = 7}}
				: turn % 4 == 1 ? (struct cell){CELL_REAL, 0, {.real = 0.5}}
				: turn % 4 == 2 ? (struct cell){CELL_TEXT, 1, {.text = "x"}}
						: (struct cell){.kind = CELL_NULL}};
		if (bulk_table_row(&m.table, values))
			die("row");
	}
	end(&m);
	check(query("SELECT count(*) FROM t WHERE a = rowid AND b IS (CASE (a / 250 + a % 3) % 4 "
		    "WHEN 0 THEN 7 WHEN 1 THEN 0.5 WHEN 2 THEN 'x' END)") == 1000,
		"a column may hold values of all types");
}

/* Return a text of `bytes` bytes that contains the number of its row. */
static const char *text_of(uint64_t row, uint32_t bytes)
{
	static char text[100000];
	memset(text, 'a' + (int)(row % 26), bytes);
	text[bytes] = 0;
	return text;
}

/* Return the length of a row's text. The lengths surround each limit of the file format: types of
 * two bytes, texts that leave the page, second and third overflow pages. Their sum is more than the
 * buffer holds. */
static uint32_t text_bytes(uint64_t row)
{
	static const uint32_t around[] = {0, 57, 4050, 4096, 8150, 12240, 90000};
	return around[row % 7] + (uint32_t)(row / 7 % 30);
}

static void texts_and_fractions(void)
{
	struct made m;
	const uint64_t count = 7 * 30;
	begin(&m, "a INTEGER, b TEXT, c REAL, d INTEGER");
	for (uint64_t row = 1; row <= count; row++) {
		const struct cell values[] = {{CELL_INTEGER, 0, {.integer = value_of(row, 0)}},
			{CELL_TEXT, text_bytes(row), {.text = text_of(row, text_bytes(row))}},
			{CELL_REAL, 0, {.real = (double)row / 3 - 20}}, {.kind = CELL_NULL}};
		if (bulk_table_row(&m.table, values))
			die("row");
	}
	end(&m);
	sqlite3 *c = NULL;
	sqlite3_stmt *s = NULL;
	int64_t wrong = 0;
	uint64_t row = 0;
	sqlite3_open(path, &c);
	sqlite3_prepare_v2(c, "SELECT a, b, c, d FROM t ORDER BY rowid", -1, &s, NULL);
	while (s && sqlite3_step(s) == SQLITE_ROW) {
		row++;
		wrong += sqlite3_column_int64(s, 0) != value_of(row, 0);
		wrong += (uint32_t)sqlite3_column_bytes(s, 1) != text_bytes(row) ||
			strcmp((const char *)sqlite3_column_text(s, 1),
				text_of(row, text_bytes(row)));
		wrong += sqlite3_column_double(s, 2) != (double)row / 3 - 20;
		wrong += sqlite3_column_type(s, 3) != SQLITE_NULL;
	}
	sqlite3_finalize(s);
	sqlite3_close(c);
	check(is_whole() == 1 && row == count && !wrong,
		"%llu rows with fractions and texts of up to 90029 bytes are written",
		(unsigned long long)count);
}

/* Write a text of two-byte characters that exceeds the limit. */
static void long_text(void)
{
	struct made m;
	const uint32_t bytes = BULK_TEXT_MAX + 1001;
	char *text = malloc(bytes);
	if (!text)
		die("no memory");
	memset(text, 'a', bytes);
	for (uint32_t i = 1; i + 1 < bytes; i += 2)
		memcpy(text + i, "\xc3\xa9", 2);
	begin(&m, "a TEXT");
	const struct cell value = {CELL_TEXT, bytes, {.text = text}};
	if (bulk_table_row(&m.table, &value))
		die("row");
	end(&m);
	free(text);
	check(query("SELECT length(CAST(a AS BLOB)) FROM t") == BULK_TEXT_MAX - 1,
		"a long text is cut between characters");
}

static void chosen_columns(void)
{
	struct made m;
	const int64_t values[] = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
	begin(&m, "a INTEGER");
	bulk_table_release(&m.table);
	m.database.generation = NSYS_2_9;
	if (bulk_table_begin(&m.table, &m.database, "CUDA_GRAPH_NODE_EVENTS", NULL) ||
		bulk_table_numbers(&m.table, values, UINT64_C(1) << 3) || bulk_table_end(&m.table))
		die("row");
	check(database_columns(&m.database, "CUDA_GRAPH_EVENTS", &m.table.columns) == 0 &&
			m.table.columns == 7,
		"a table has the name that its generation of nsys uses");
	bulk_table_release(&m.table);
	if (bulk_table_begin(&m.table, &m.database, "PROFILER_OVERHEAD", NULL) ||
		bulk_table_numbers(&m.table, values, 0))
		die("row");
	end(&m);
	check(is_whole() == 1 &&
			query("SELECT end = 11 AND globalTid IS NULL AND originalGraphNodeId = 16 "
			      "FROM CUDA_GRAPH_EVENTS") == 1,
		"a table of an older generation has its rows");
	check(query("SELECT nameId = 13 AND returnValue = 14 FROM PROFILER_OVERHEAD") == 1,
		"values are written to the columns that the generation has");
}

/* Check that the export fails with the reason if SQLite refuses a row, and removes the file. */
static void refused(void)
{
	struct made m;
	char temporary[96];
	const int64_t values[] = {1, 2};
	begin(&m, "a INTEGER NOT NULL, b INTEGER");
	snprintf(temporary, sizeof(temporary), "%s", m.database.temporary);
	int error = bulk_table_numbers(&m.table, values, 1);
	error = error ? error : bulk_table_end(&m.table);
	check(error < 0 && strstr(m.database.cause, "NOT NULL"),
		"a row that SQLite refuses is an error: %s", m.database.cause);
	bulk_table_release(&m.table);
	database_abandon(&m.database);
	check(access(temporary, F_OK) && access(path, F_OK), "a failed export leaves no file");
}

static void generations(void)
{
	struct nsys_shape shape;
	enum nsys_generation g = NSYS_3_24;
	check(nsys_generation_named("2.9", &g) && g == NSYS_2_9 &&
			!nsys_generation_named("3", &g) && !nsys_generation_named("", &g),
		"each generation is found by its name");
	nsys_table_shape(NSYS_DIAGNOSTIC_EVENT, NSYS_3_4, 0, &shape);
	check(!shape.columns, "an older generation lacks tables that were added later");
	nsys_table_shape(NSYS_OSRT_API, NSYS_3_4, 0, &shape);
	check(shape.columns == 8 && shape.places[7] == 7 && !strstr(shape.sql, "argumentsId"),
		"an older generation lacks columns that were added later: %s", shape.sql);
	nsys_table_shape(NSYS_OSRT_API, NSYS_3_24, 0, &shape);
	check(shape.columns == 10 && strstr(shape.sql, "argumentsId INTEGER NOT NULL, "),
		"a newer generation has columns that were added later");
	for (uint32_t i = 0; i < NSYS_TABLES; i++) {
		nsys_table_shape(i, NSYS_3_24, 0, &shape);
		if (nsys_columns(i) > NSYS_COLUMNS || strlen(shape.sql) + 8 > sizeof(shape.sql))
			check(0, "%s fits", nsys_table_name(i, NSYS_3_24));
	}
	check(nsys_column(NSYS_OSRT_API, "callchainId") == 7 &&
			nsys_column(NSYS_OSRT_API, "call") == -1,
		"columns are found by their name");
}

static void row_ids(void)
{
	struct made m;
	begin(&m, "id INTEGER PRIMARY KEY, b INTEGER");
	for (int64_t id = 3; id < 30000; id += id % 7 + 1)
		if (bulk_table_numbers(&m.table, (const int64_t[]){id, 5}, 0))
			die("row");
	end(&m);
	check(is_whole() == 1 &&
			query("SELECT count(*) FROM t WHERE id = rowid AND id % 7 = 0") > 9,
		"a row id that the exporter chooses is the primary key");
	check(query("SELECT b FROM t WHERE id = 3") == 5, "rows are found by their row id");
}

static void names(void)
{
	struct database d;
	char other[96];
	snprintf(path, sizeof(path), "%s/name.sqlite", folder);
	check(!database_create(&d, path, false) && access(path, F_OK),
		"the file has no name while it is written");
	snprintf(other, sizeof(other), "%s", d.temporary);
	database_abandon(&d);
	check(access(other, F_OK) && access(path, F_OK), "an abandoned export leaves no file");
	database_create(&d, path, false);
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(fd);
	check(database_finish(&d) == -EEXIST && strstr(d.cause, "exists"),
		"a file that was created meanwhile is not overwritten: %s", d.cause);
	database_abandon(&d);
	check(query("PRAGMA page_count") == 0, "the file that was created meanwhile is unchanged");
	check(database_create(&d, path, false) == -EEXIST, "an existing file is not overwritten");
	database_abandon(&d);
	check(!database_create(&d, path, true) &&
			!database_row(&d, "ThreadNames", "ini", INT64_C(1), INT64_C(2)) &&
			!database_finish(&d),
		"an existing file is overwritten if that was asked for");
	database_abandon(&d);
	check(query("SELECT globalTid FROM ThreadNames WHERE priority IS NULL") == 2,
		"the new database replaces the existing file");
}

static void texts(void)
{
	struct database d;
	snprintf(path, sizeof(path), "%s/text.sqlite", folder);
	database_create(&d, path, true);
	static const char *const given[] = {"\xc3\xa9", "a\xff\xc3(", "\xed\xa0\x80",
		"\xf4\x90\x80\x80", "\xc0\x80", "\xf0\x9f\x98\x80", ""};
	for (int64_t i = 0; i < 7; i++)
		if (database_row(&d, "StringIds", "it", i, given[i]))
			die("text");
	check(!database_row(&d, "PROCESSES", "oit", 0, INT64_C(9), INT64_C(4), NULL),
		"a number that is not known is NULL");
	database_finish(&d);
	database_abandon(&d);
	check(query("SELECT value = char(233) FROM StringIds WHERE id = 0") == 1,
		"valid UTF-8 is written unchanged");
	check(query("SELECT value = 'a\\xff\\xc3(' FROM StringIds WHERE id = 1") == 1,
		"bytes that are not UTF-8 are escaped");
	check(query("SELECT value = '\\xed\\xa0\\x80' FROM StringIds WHERE id = 2") == 1,
		"surrogates");
	check(query("SELECT value LIKE '\\xf4\\x90%' FROM StringIds WHERE id = 3") == 1,
		"a code point above 0x10ffff is escaped");
	check(query("SELECT value = '\\xc0\\x80' FROM StringIds WHERE id = 4") == 1, "too long");
	check(query("SELECT value = char(128512) FROM StringIds WHERE id = 5") == 1,
		"a character of four bytes is written unchanged");
	check(query("SELECT globalPid IS NULL AND pid = 4 AND name IS NULL FROM PROCESSES") == 1,
		"is NULL");
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	counts();
	changing_kinds();
	texts_and_fractions();
	long_text();
	chosen_columns();
	generations();
	refused();
	row_ids();
	names();
	texts();
	char command[96];
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command) ? 1 : tap_done();
}

#endif
