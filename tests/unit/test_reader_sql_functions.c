/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_sql_functions.c - tests of errors of the SQL functions.
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
	sql_close(&s);
	return tap_done();
}

#endif
