/*
 * ranges.h - many ranges of addresses, and which of them hold one: functions, compilation units,
 * code made at run time. Ranges may lie in each other.
 *
 * All zero = empty. ranges_add() ..., ranges_sort(), ranges_find(); ranges_release(). One thread
 * while they are added, then any thread. Adding allocates.
 */
#ifndef READER_RANGES_H
#define READER_RANGES_H

#include <stdint.h>

struct range {
	uint64_t low, high; /* high: the first address behind */
	uint64_t reach;     /* greatest high of this and all ranges before it */
	uint32_t value;     /* the caller's */
};

struct ranges {
	struct range *rows;
	uint32_t count, capacity;
};

void ranges_release(struct ranges *r);

/* Empty ranges are left out. 0 or -ENOMEM. */
int ranges_add(struct ranges *r, uint64_t low, uint64_t high, uint32_t value);
void ranges_sort(struct ranges *r);

/*
 * The ranges that hold the address, from the greatest low downwards, of equal ones the last added
 * first: begin with `after` NULL, go on with the one returned. NULL = no more. Looks at a bounded
 * number of ranges.
 */
const struct range *ranges_find(
	const struct ranges *r, uint64_t address, const struct range *after);

#endif
