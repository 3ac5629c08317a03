/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_ranges.h - table of address ranges that finds the ranges which contain an address:
 * functions, compilation units, generated code. Ranges may nest and overlap.
 *
 * All zero = empty. Call ranges_add() for each range, ranges_sort(), then ranges_find();
 * ranges_release() at the end. One thread while ranges are added, then any thread. Adding
 * allocates.
 */
#ifndef READER_BASE_ADDRESS_RANGES_H
#define READER_BASE_ADDRESS_RANGES_H

#include <stdint.h>

struct range {
	uint64_t low, high; /* high: the first address after the range */
	uint64_t reach;     /* greatest high of this and all ranges before it */
	uint32_t value;     /* owned by the caller */
};

struct ranges {
	struct range *rows;
	uint32_t count, capacity;
};

/* Free the table and leave it empty. */
void ranges_release(struct ranges *r);

/* Add a range; an empty one is ignored. Returns 0 or -ENOMEM. */
int ranges_add(struct ranges *r, uint64_t low, uint64_t high, uint32_t value);
/* Sort the table; required after the last ranges_add() and before the first ranges_find(). */
void ranges_sort(struct ranges *r);

/*
 * Iterate over the ranges that contain an address: pass `after` NULL first, then the range
 * returned, until the result is NULL. Ranges are ordered by descending `low`; of ranges with equal
 * `low`, the last added is first. Examines at most 4096 ranges, so that a hostile table costs
 * bounded time.
 */
const struct range *ranges_find(
	const struct ranges *r, uint64_t address, const struct range *after);

#endif
