/* SPDX-License-Identifier: Apache-2.0 */
/* sums.c - sum(x) for reports: an aggregate and window function that does not overflow. */
#define _GNU_SOURCE
#include "reader/sql/sums.h"

#ifdef HAVE_SQLITE

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* SQLite aligns the memory of an aggregate to 8 bytes. */
__extension__ typedef __int128 wide __attribute__((aligned(8)));

struct sum {
	wide whole; /* of integers: 2^63 rows do not overflow it */
	double real;
	uint64_t count, reals;
};

static void sum_change(sqlite3_context *context, sqlite3_value *value, int sign)
{
	struct sum *sum = sqlite3_aggregate_context(context, sizeof(*sum));
	const int type = sqlite3_value_numeric_type(value);
	if (!sum || type == SQLITE_NULL)
		return;
	sum->count += (uint64_t)sign;
	if (type == SQLITE_INTEGER) {
		sum->whole += (wide)sqlite3_value_int64(value) * sign;
		return;
	}
	sum->reals += (uint64_t)sign;
	sum->real += sqlite3_value_double(value) * sign;
}

static void sum_step(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	sum_change(context, values[0], 1);
}

static void sum_inverse(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	sum_change(context, values[0], -1);
}

static void sum_value(sqlite3_context *context)
{
	const struct sum *sum = sqlite3_aggregate_context(context, 0);
	if (!sum || !sum->count)
		return;
	if (!sum->reals && sum->whole >= INT64_MIN && sum->whole <= INT64_MAX)
		sqlite3_result_int64(context, (int64_t)sum->whole);
	else
		sqlite3_result_double(context, (double)sum->whole + sum->real);
}

int sums_add(struct sql *s)
{
	/* innocuous: views of the database itself may call it */
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	return sqlite3_create_window_function(s->connection, "sum", 1, flags, NULL, sum_step,
		sum_value, sum_value, sum_inverse, NULL);
}

#endif
