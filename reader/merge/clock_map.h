/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock_map.h - conversion of the times of one clock to another: piecewise linear between knots,
 * extrapolated outside.
 *
 * All zero = the identity. Conversions are monotonic: they never change the order of two times.
 * Times are nanoseconds. One thread; clock_map_add() and clock_map_compose() allocate.
 */
#ifndef READER_MERGE_CLOCK_MAP_H
#define READER_MERGE_CLOCK_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct clock_knot {
	int64_t from, to;
};

struct clock_map {
	int64_t shift; /* added to all results */
	struct clock_knot *knots;
	uint32_t count, capacity; /* knots: 0, or at least 2 that ascend in both clocks */
};

void clock_map_release(struct clock_map *m);

/* Return whether no time changes. */
static inline bool clock_map_is_identity(const struct clock_map *m)
{
	return !m->shift && !m->count;
}

/* Append a knot, unless it does not ascend from the last one. Returns 0 or -ENOMEM. */
int clock_map_add(struct clock_map *m, struct clock_knot knot);

/* Convert a time. */
int64_t clock_map_time(const struct clock_map *m, int64_t ns);

/* Set `ret` to the conversion by `first`, then by `second`; the caller releases it. Returns 0 or
 * -ENOMEM. */
int clock_map_compose(
	struct clock_map *ret, const struct clock_map *first, const struct clock_map *second);

#endif
