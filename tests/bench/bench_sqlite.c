/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_sqlite.c - measures the time that SQLite itself needs for the rows of OSRT_API: a bare loop
 * with 100 rows per statement, no journal and no sync.
 *
 *   bench_sqlite FILE [ROWS]     (default 2000000; FILE is replaced)
 *
 * Prints "inserts SECONDS".
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef HAVE_SQLITE

#include <sqlite3.h>

#define COLUMNS 9
#define ROWS_EACH 100

static double seconds(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void statement_text(char *sql)
{
	sql += sprintf(sql, "INSERT INTO t VALUES ");
	for (int row = 0; row < ROWS_EACH; row++)
		sql += sprintf(sql, "%s(?,?,?,?,?,?,?,?,?)", row ? "," : "");
}

static void rows_bind(sqlite3_stmt *s, sqlite3_int64 first)
{
	for (int row = 0, place = 1; row < ROWS_EACH; row++) {
		sqlite3_int64 start = (first + row) * 1700;
		const sqlite3_int64 values[COLUMNS] = {start, start + 900 + row, 27,
			283202711294533, 100 + row % 4, row, 0, row % 16, 0};
		for (int i = 0; i < COLUMNS; i++)
			sqlite3_bind_int64(s, place++, values[i]);
	}
}

int main(int argc, char **argv)
{
	char sql[4096];
	sqlite3 *c = NULL;
	sqlite3_stmt *s = NULL;
	const long rows = argc > 2 ? atol(argv[2]) : 2000000;
	if (argc < 2)
		return 2;
	unlink(argv[1]);
	statement_text(sql);
	if (sqlite3_open_v2(argv[1], &c,
		    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) ||
		sqlite3_exec(c,
			"PRAGMA journal_mode=OFF;PRAGMA synchronous=OFF;"
			"PRAGMA locking_mode=EXCLUSIVE;PRAGMA cache_size=-65536;"
			"CREATE TABLE t(a INTEGER NOT NULL, b INTEGER NOT NULL, c INTEGER NOT NULL,"
			"d INTEGER, e INTEGER NOT NULL, f INTEGER NOT NULL, g INTEGER,"
			"h INTEGER NOT NULL, i INTEGER NOT NULL);BEGIN",
			NULL, NULL, NULL) ||
		sqlite3_prepare_v2(c, sql, -1, &s, NULL))
		return 1;
	double start = seconds();
	for (long row = 0; row < rows; row += ROWS_EACH) {
		rows_bind(s, row);
		if (sqlite3_step(s) != SQLITE_DONE)
			return 1;
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
	if (sqlite3_exec(c, "COMMIT", NULL, NULL, NULL))
		return 1;
	printf("inserts %.6f\n", seconds() - start);
	sqlite3_close(c);
	return 0;
}

#else

int main(void)
{
	printf("without SQLite\n");
	return 0;
}

#endif
