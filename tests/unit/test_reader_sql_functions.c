/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_sql_functions.c - tests of the SQL functions: their errors, and texts as numbers.
 *
 * fread() of this program fails while `is_broken`, as for a disk with a bad block.
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

#include <dlfcn.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/sql/connection.h"

static bool is_broken;

size_t fread(void *data, size_t bytes, size_t count, FILE *file)
{
	size_t (*next)(void *, size_t, size_t, FILE *) = dlsym(RTLD_NEXT, "fread");
	if (is_broken)
		close(fileno(file));
	return next(data, bytes, count, file);
}

/* More values than a median keeps in memory. */
static const char query[] = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE "
			    "x < 400000) SELECT median(x) FROM n";

static int number_take(void *user, const struct sql_value *values, int count)
{
	(void)count;
	*(double *)user = values[0].real;
	return 0;
}

static int truth_take(void *user, const struct sql_value *values, int count)
{
	(void)count;
	*(bool *)user = values[0].integer == 1;
	return 0;
}

/* Check that a name is numbered by its text, and found again by the id that it was learned with. */
static void names_are_learned(struct sql *s)
{
	static const struct {
		const char *query, *what;
	} rows[] = {
		{"SELECT learned_number(1, 7) IS NULL",
			"a name that was not learned has no number"},
		{"SELECT learn_number(1, 7, 'a') = text_number('a')",
			"a name has its text's number"},
		{"SELECT learned_number(1, 7) = text_number('a')", "and is found by its id"},
		{"SELECT learn_number(1, 8, 'a') = learned_number(1, 7)",
			"ids share a text's number"},
		{"SELECT learned_number(2, 7) IS NULL", "another kind of name has ids of its own"},
		{"SELECT learn_number(1, 9, NULL) IS NULL", "no text, no number"},
		{"SELECT learn_number(1, 'b', 'b') = text_number('b')", "an id that is a text"},
		{"SELECT learned_number(1, 'b') IS NULL", "is not kept"},
		{"SELECT number_text(learned_number(1, 8)) = 'a'", "a number has its text"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool holds = false;
		const struct sql_visitor visitor = {&holds, NULL, truth_take};
		int error = sql_run(s, rows[i].query, &visitor);
		check(!error && holds, "%s", rows[i].what);
	}
}

/* Check that sum() is SQLite's, except beyond 64 bits. */
static void sums_have_room(struct sql *s)
{
	static const char most[] = "(SELECT 9223372036854775807 AS x, 1 AS i UNION ALL SELECT 1, 2 "
				   "UNION ALL SELECT -9, 3)";
	static const struct {
		const char *what, *list, *condition;
	} rows[] = {
		{"a sum beyond 64 bits is a floating-point number", "sum(x) AS y",
			"typeof(y) = 'real' AND y = 9223372036854775808.0"},
		{"one that comes back is an integer", "sum(x) AS y", "y = 9223372036854775799"},
		{"of no rows: NULL", "sum(x) AS y", "y IS NULL"},
		{"in a window", "sum(x) OVER (ORDER BY i ROWS 1 PRECEDING) AS y",
			"min(y) = -8 AND max(y) = 9223372036854775808.0"},
		{"of other types", "sum(CASE i WHEN 1 THEN '5' WHEN 2 THEN 0.5 END) AS y",
			"typeof(y) = 'real' AND y = 5.5"},
	};
	static const char *const filters[] = {"i < 3", "1", "0", "1", "1"};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool holds = false;
		char text[512];
		const struct sql_visitor visitor = {&holds, NULL, truth_take};
		snprintf(text, sizeof(text), "SELECT %s FROM (SELECT %s FROM %s WHERE %s)",
			rows[i].condition, rows[i].list, most, filters[i]);
		int error = sql_run(s, text, &visitor);
		check(!error && holds, "%s", rows[i].what);
	}
}

int main(void)
{
	char path[] = "/tmp/test_reader_sql_functions.XXXXXX";
	struct sql s;
	double median = 0;
	const struct sql_visitor visitor = {&median, NULL, number_take};
	int fd = mkstemp(path);
	sqlite3 *base = NULL;
	if (fd < 0)
		abort();
	close(fd);
	check(!sqlite3_open(path, &base) &&
			!sqlite3_exec(base, "CREATE TABLE t (x)", NULL, NULL, NULL),
		"a database");
	sqlite3_close(base);
	check(!sql_open(&s, path), "is opened");
	unlink(path);
	int error = sql_run(&s, query, &visitor);
	check(!error && median == 200000.5, "the median of 400000 values: %g", median);
	is_broken = true;
	error = sql_run(&s, query, &visitor);
	is_broken = false;
	check(error && strstr(s.cause, "cannot read a temporary file of a median"),
		"a file that cannot be read is no lack of memory: %s", s.cause);
	names_are_learned(&s);
	sums_have_room(&s);
	sql_close(&s);
	return tap_done();
}

#endif
