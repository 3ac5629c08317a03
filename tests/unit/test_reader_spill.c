/* SPDX-License-Identifier: Apache-2.0 */
/* test_reader_spill.c - arrays that move to a file keep their elements, and are sorted there. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "reader/base/spill.h"
#include "tests/unit/tap.h"

enum { ELEMENTS = 3 << 20 }; /* of 8 bytes: two runs of a sort */

static int order(const void *one, const void *two)
{
	const uint64_t *a = one, *b = two;
	return (*a > *b) - (*a < *b);
}

/* The process has never had more than half of the arrays in memory. */
static void memory_is_small(void)
{
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	check(used.ru_maxrss < (ELEMENTS * 8) >> 10,
		"at most %ld KiB of two arrays of %d are in memory", used.ru_maxrss,
		(ELEMENTS * 8) >> 10);
}

/* Fill two arrays by turns, sort one, and compare. limit: bytes in memory. */
static void fill_and_sort(size_t limit, bool is_file)
{
	struct spill s = {.limit = limit};
	uint64_t *numbers = NULL, *others = NULL, number = 1, sum = 0, found = 0;
	uint32_t capacity = 0, other_capacity = 0, wrong = 0, failed = 0;
	for (uint32_t i = 0; i < ELEMENTS && !failed; i++) {
		number = number * 6364136223846793005u + 1442695040888963407u;
		failed = spill_room(&s, &numbers, i, &capacity, sizeof(*numbers)) ||
			spill_room(&s, &others, i, &other_capacity, sizeof(*others));
		if (failed)
			break;
		numbers[i] = number >> 20;
		others[i] = i;
		sum += numbers[i];
		spill_use(&s, 1);
	}
	check(!failed && s.is_file == is_file, "limit %zu: the arrays are in %s", limit,
		is_file ? "a file" : "memory");
	if (!limit)
		memory_is_small();
	check(!spill_sort(&s, &numbers, ELEMENTS, &capacity, sizeof(*numbers), order),
		"the array is sorted");
	for (uint32_t i = 0; i < ELEMENTS; i++) {
		found += numbers[i];
		wrong += (i && numbers[i - 1] > numbers[i]) || others[i] != i;
	}
	check(!wrong && found == sum, "its elements are in order, and no other array has changed");
	check(!spill_room(&s, &numbers, ELEMENTS, &capacity, sizeof(*numbers)) &&
			!spill_sort(&s, &others, ELEMENTS, &other_capacity, sizeof(*others), order),
		"it can grow, and a sorted array can be sorted");
	spill_release(&s);
}

/* A file that may not grow is an error, not a signal. */
static void no_room(void)
{
	const struct rlimit small = {1 << 20, 1 << 20};
	struct spill s = {0};
	uint64_t *numbers = NULL;
	uint32_t capacity = 0;
	signal(SIGXFSZ, SIG_IGN);
	check(!setrlimit(RLIMIT_FSIZE, &small) &&
			spill_room(&s, &numbers, 0, &capacity, sizeof(*numbers)) == -EFBIG,
		"a file that may not grow is an error");
	spill_release(&s);
	setenv("TMPDIR", "/nonexistent", 1);
	check(spill_room(&s, &numbers, 0, &capacity, sizeof(*numbers)) == -ENOENT,
		"and so is a folder that is not there");
	spill_release(&s);
}

int main(void)
{
	fill_and_sort(0, true);
	fill_and_sort(256u << 20, false);
	fill_and_sort(20u << 20, true);
	no_room();
	return tap_done();
}
