/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_durations.c - compares statistics of durations with those computed from the sorted
 * values.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader/stats/durations.h"
#include "tests/unit/tap.h"

static uint64_t seed = 88172645463325252ull;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static int compare_values(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Run all passes over the values; return how many there were. */
static unsigned measure(struct durations *d, const uint64_t *values, size_t count)
{
	unsigned passes = 1;
	durations_init(d);
	for (size_t i = 0; i < count; i++)
		durations_add(d, values[i]);
	for (; durations_pass_end(d) == 1; passes++)
		for (size_t i = 0; i < count; i++)
			durations_again(d, values[i]);
	return passes;
}

static void check_values(const char *name, uint64_t *values, size_t count)
{
	struct durations d;
	unsigned __int128 total = 0;
	long double spread = 0;
	unsigned passes = measure(&d, values, count);
	qsort(values, count, sizeof(*values), compare_values);
	for (size_t i = 0; i < count; i++)
		total += values[i];
	long double mean = (long double)total / count;
	for (size_t i = 0; i < count; i++)
		spread += (values[i] - mean) * (values[i] - mean);
	double deviation = count > 1 ? (double)sqrtl(spread / (count - 1)) : 0;
	uint64_t lower = values[(count - 1) / 2], upper = values[count / 2];
	check(d.middle[0] == lower && d.middle[1] == upper, "%s: the median is exact", name);
	check(d.min == values[0] && d.max == values[count - 1] && d.count == count &&
			d.total == total,
		"%s: minimum, maximum, count and total are exact", name);
	check(fabs(durations_deviation(&d) - deviation) <= deviation * 1e-12,
		"%s: the deviation is that of a sample", name);
	check(passes <= 7, "%s: few passes are needed: %u", name, passes);
	durations_release(&d);
}

static void check_random(const char *name, size_t count, uint64_t least, uint64_t span)
{
	uint64_t *values = malloc(count * sizeof(*values));
	for (size_t i = 0; values && i < count; i++)
		values[i] = least + next_random() % span;
	if (values)
		check_values(name, values, count);
	free(values);
}

/* Check values of which half are far below the other half: the two middle values are in different
 * buckets. */
static void check_two_heaps(size_t count)
{
	uint64_t *values = malloc(count * sizeof(*values));
	for (size_t i = 0; values && i < count; i++)
		values[i] = (i & 1 ? 1000000000 : 1000) + next_random() % 500;
	if (values)
		check_values("two heaps", values, count);
	free(values);
}

int main(void)
{
	struct durations d;
	uint64_t one[] = {1234}, two[] = {1000, 1501}, extreme[] = {0, UINT64_MAX / 2, 1, 7};
	check_values("one", one, 1);
	check_values("two", two, 2);
	measure(&d, two, 2);
	check(durations_median(&d) == 1250.5,
		"the median of an even count is the mean of the two middle values");
	check(durations_mean(&d) == 1250.5, "mean");
	durations_release(&d);
	check_values("extremes", extreme, 4);
	check_random("few", 4096, 1000, 1000000);
	check_random("one more than is kept", 4097, 1000, 1000000);
	check_random("many small", 200000, 0, 100);
	check_random("many", 200001, 1000, 5000);
	check_random("many of wide range", 300000, 1000, 1ull << 50);
	check_random("all in one bucket", 100000, 1ull << 40, 1ull << 34);
	check_two_heaps(20000);
	durations_init(&d);
	check(durations_pass_end(&d) == 0 && durations_median(&d) == 0,
		"without values there is no median, and no crash");
	durations_release(&d);
	return tap_done();
}
