/* Pages and databases of the export to SQLite, read back by SQLite itself. */
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

#include "reader/export/database.h"
#include "reader/export/pages.h"

static char folder[] = "/tmp/test_reader_sqlite.XXXXXX";
static char path[64];

static void die(const char *what)
{
	printf("Bail out! %s\n", what);
	exit(1);
}

/* The number that a query gives; -1 where it fails, with the message on stderr. */
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

/* The value of a row and column that the tests below write. */
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
	struct pages pages;
	struct page_table table;
	int fd;
};

static void begin(struct made *m, const char *columns)
{
	uint32_t root = 0, count = 0;
	snprintf(path, sizeof(path), "%s/pages.sqlite", folder);
	unlink(path);
	*m = (struct made){0};
	if (database_create(&m->database, path, true) ||
		database_table(&m->database, "t", columns) ||
		database_root(&m->database, "t", &root, &count) || database_pause(&m->database))
		die("no database");
	m->fd = open(m->database.temporary, O_RDWR | O_CLOEXEC);
	if (pages_start(&m->pages, m->fd))
		die("no pages");
	page_table_begin(&m->table, &m->pages, root, count, NULL);
}

static void end(struct made *m)
{
	if (page_table_end(&m->table) || pages_stop(&m->pages) || database_resume(&m->database) ||
		database_row(&m->database, "StringIds", "it", INT64_C(0), "after the pages") ||
		database_finish(&m->database))
		die("not finished");
	close(m->fd);
	page_table_release(&m->table);
	pages_release(&m->pages);
	database_abandon(&m->database);
}

static void rows(struct made *m, uint64_t count)
{
	int64_t values[PAGE_COLUMNS];
	for (uint64_t row = 1; row <= count; row++) {
		for (uint32_t i = 0; i < m->table.columns; i++)
			values[i] = value_of(row, i);
		if (page_table_row(&m->table, 0, values, row % 5 ? 0 : 2))
			die("row");
	}
}

/* Rows whose columns differ from what was written. */
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

static void values_and_levels(void)
{
	struct made m;
	static const uint64_t counts[] = {0, 1, 2, 150, 300, 5000, 60000, 250000};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		begin(&m, "a INTEGER, b INTEGER, c INTEGER");
		rows(&m, counts[i]);
		end(&m);
		int64_t wrong = differing(counts[i], 3);
		check(is_whole() == 1 && !wrong, "%llu rows of three columns are read back",
			(unsigned long long)counts[i]);
	}
	check(query("SELECT count(*) FROM StringIds") == 1, "SQLite adds a table behind the pages");
	check(query("SELECT max(a) = 9223372036854775807 AND min(a) < -9223372036854775807 FROM t"),
		"the greatest and least numbers are among them");
}

/* Each count of leaves around the point where an interior page is full, and its parent begins. */
static void full_pages(void)
{
	enum { COLUMNS = 24 };
	char columns[COLUMNS * 16] = "";
	int whole = 1, flat = 0, deep = 0;
	struct made m;
	uint64_t count = 0;
	for (uint32_t i = 0; i < COLUMNS; i++)
		sprintf(columns + strlen(columns), "%sc%u INTEGER", i ? "," : "", i);
	for (count = 13000; whole == 1 && count < 17000; count += 23) {
		begin(&m, columns);
		rows(&m, count);
		*(m.table.levels[2].bytes ? &deep : &flat) += 1;
		end(&m);
		whole = is_whole() == 1 && query("SELECT count(*) FROM t") == (int64_t)count;
	}
	check(flat > 20 && deep > 20, "%d trees of two levels, %d of three", flat, deep);
	check(whole == 1, "every count of leaves makes a sound tree (up to %llu rows)",
		(unsigned long long)count);
	check(!differing(count - 23, COLUMNS), "and the rows are right");
}

static void lock_page(void)
{
	struct made m;
	const uint32_t page = 40;
	sqlite3_test_control(SQLITE_TESTCTRL_PENDING_BYTE, (page - 1) * PAGE_BYTES);
	begin(&m, "a INTEGER, b INTEGER, c INTEGER");
	m.pages.lock_page = page;
	rows(&m, 20000);
	end(&m);
	check(query("PRAGMA page_count") > page && is_whole() == 1 && !differing(20000, 3),
		"the page where SQLite locks stays unused");
	sqlite3_test_control(SQLITE_TESTCTRL_PENDING_BYTE, 0x40000000);
}

/* A text of so many bytes that says which row it is of. */
static const char *text_of(uint64_t row, uint32_t bytes)
{
	static char text[100000];
	memset(text, 'a' + (int)(row % 26), bytes);
	text[bytes] = 0;
	return text;
}

/* Lengths around each at which something changes: types of two bytes, texts that leave the page,
 * second and third overflow pages. */
static uint32_t text_bytes(uint64_t row)
{
	static const uint32_t around[] = {0, 57, 4050, 4096, 8150, 12240, 90000};
	return around[row % 7] + (uint32_t)(row / 7 % 30);
}

static void texts_and_fractions(uint32_t lock)
{
	struct made m;
	const uint64_t count = 7 * 30;
	if (lock)
		sqlite3_test_control(SQLITE_TESTCTRL_PENDING_BYTE, (lock - 1) * PAGE_BYTES);
	begin(&m, "a INTEGER, b TEXT, c REAL, d INTEGER");
	m.pages.lock_page = lock ? lock : m.pages.lock_page;
	for (uint64_t row = 1; row <= count; row++) {
		const struct page_value values[] = {
			{PAGE_INTEGER, 0, {.integer = value_of(row, 0)}},
			{PAGE_TEXT, text_bytes(row), {.text = text_of(row, text_bytes(row))}},
			{PAGE_REAL, 0, {.real = (double)row / 3 - 20}}, {.kind = PAGE_NULL}};
		if (page_table_values(&m.table, 0, values))
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
		"%llu rows with texts of up to 90029 bytes and fractions%s",
		(unsigned long long)count, lock ? ", around the lock page" : "");
	sqlite3_test_control(SQLITE_TESTCTRL_PENDING_BYTE, 0x40000000);
}

static void chosen_columns(void)
{
	struct made m;
	static const uint8_t places[] = {2, 0, 5};
	const int64_t values[] = {10, 11, 12, 13, 14, 15};
	begin(&m, "c INTEGER, a INTEGER, f INTEGER");
	page_table_begin(&m.table, &m.pages, m.table.root, 3, places);
	if (page_table_row(&m.table, 0, values, UINT64_C(1) << 5))
		die("row");
	end(&m);
	check(is_whole() == 1 && query("SELECT c = 12 AND a = 10 AND f IS NULL FROM t") == 1,
		"columns take the values at their places");
}

static void generations(void)
{
	struct nsys_shape shape;
	enum nsys_generation g = NSYS_3_24;
	check(nsys_generation_named("2.9", &g) && g == NSYS_2_9 &&
			!nsys_generation_named("3", &g) && !nsys_generation_named("", &g),
		"generations have names");
	nsys_table_shape(NSYS_DIAGNOSTIC_EVENT, NSYS_3_4, &shape);
	check(!shape.columns, "a table that came later is not there");
	nsys_table_shape(NSYS_OSRT_API, NSYS_3_4, &shape);
	check(shape.columns == 8 && shape.places[7] == 7 && !strstr(shape.sql, "argumentsId"),
		"a column that came later is not there: %s", shape.sql);
	nsys_table_shape(NSYS_OSRT_API, NSYS_3_24, &shape);
	check(shape.columns == 10 && strstr(shape.sql, "argumentsId INTEGER NOT NULL, "),
		"and is, then");
	for (uint32_t i = 0; i < NSYS_TABLES; i++) {
		nsys_table_shape(i, NSYS_3_24, &shape);
		if (nsys_columns(i) > NSYS_COLUMNS || strlen(shape.sql) + 8 > sizeof(shape.sql))
			check(0, "%s fits", nsys_table_name(i, NSYS_3_24));
	}
	check(nsys_column(NSYS_OSRT_API, "callchainId") == 7 &&
			nsys_column(NSYS_OSRT_API, "call") == -1,
		"columns are found by name");
}

static void row_ids(void)
{
	struct made m;
	const int64_t values[] = {0, 5};
	begin(&m, "id INTEGER PRIMARY KEY, b INTEGER");
	for (uint64_t id = 3; id < 30000; id += id % 7 + 1)
		if (page_table_row(&m.table, id, values, 1))
			die("row");
	check(page_table_row(&m.table, 5, values, 1) == -EINVAL, "row ids only ascend");
	end(&m);
	check(is_whole() == 1 &&
			query("SELECT count(*) FROM t WHERE id = rowid AND id % 7 = 0") > 9,
		"row ids of one's own are the primary key");
	check(query("SELECT b FROM t WHERE id = 3") == 5, "and are found");
}

static void names(void)
{
	struct database d;
	char other[96];
	snprintf(path, sizeof(path), "%s/name.sqlite", folder);
	check(!database_create(&d, path, false) && access(path, F_OK),
		"no name while it is written");
	snprintf(other, sizeof(other), "%s", d.temporary);
	database_abandon(&d);
	check(access(other, F_OK) && access(path, F_OK), "nothing is left of what is abandoned");
	database_create(&d, path, false);
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(fd);
	check(database_finish(&d) == -EEXIST && strstr(d.cause, "exists"),
		"a file made meanwhile is not overwritten: %s", d.cause);
	database_abandon(&d);
	check(query("PRAGMA page_count") == 0, "and is as it was");
	check(database_create(&d, path, false) == -EEXIST, "an existing file is an error");
	database_abandon(&d);
	check(!database_create(&d, path, true) &&
			!database_row(&d, "ThreadNames", "ini", INT64_C(1), INT64_C(2)) &&
			!database_finish(&d),
		"unless it is to be overwritten");
	database_abandon(&d);
	check(query("SELECT globalTid FROM ThreadNames WHERE priority IS NULL") == 2, "and it is");
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
		"a number that is not known");
	database_finish(&d);
	database_abandon(&d);
	check(query("SELECT value = char(233) FROM StringIds WHERE id = 0") == 1, "UTF-8 as it is");
	check(query("SELECT value = 'a\\xff\\xc3(' FROM StringIds WHERE id = 1") == 1,
		"other bytes are made visible");
	check(query("SELECT value = '\\xed\\xa0\\x80' FROM StringIds WHERE id = 2") == 1,
		"surrogates");
	check(query("SELECT value LIKE '\\xf4\\x90%' FROM StringIds WHERE id = 3") == 1,
		"too large");
	check(query("SELECT value = '\\xc0\\x80' FROM StringIds WHERE id = 4") == 1, "too long");
	check(query("SELECT value = char(128512) FROM StringIds WHERE id = 5") == 1, "four bytes");
	check(query("SELECT globalPid IS NULL AND pid = 4 AND name IS NULL FROM PROCESSES") == 1,
		"is NULL");
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	values_and_levels();
	full_pages();
	lock_page();
	texts_and_fractions(0);
	for (uint32_t page = 30; page < 60; page++)
		texts_and_fractions(page);
	chosen_columns();
	generations();
	row_ids();
	names();
	texts();
	char command[96];
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command) ? 1 : tap_done();
}

#endif
