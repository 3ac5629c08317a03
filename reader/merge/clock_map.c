/* SPDX-License-Identifier: Apache-2.0 */
/* clock_map.c - piecewise linear conversion of times. */
#include "reader/merge/clock_map.h"

#include <math.h>
#include <stdlib.h>

#include "common/array.h"

void clock_map_release(struct clock_map *m)
{
	free(m->knots);
	*m = (struct clock_map){0};
}

int clock_map_add(struct clock_map *m, struct clock_knot knot)
{
	const struct clock_knot *last = m->count ? &m->knots[m->count - 1] : NULL;
	if (last && (knot.from <= last->from || knot.to <= last->to))
		return 0;
	if (array_room(&m->knots, m->count, &m->capacity, sizeof(*m->knots)))
		return -ENOMEM;
	m->knots[m->count++] = knot;
	return 0;
}

/* Add without overflow: hostile files have any times. */
static int64_t sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t difference(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* Convert along the line through two knots. */
static int64_t along(const struct clock_knot *a, const struct clock_knot *b, int64_t ns)
{
	const uint64_t span = (uint64_t)difference(b->from, a->from);
	const int64_t excess = difference(difference(b->to, a->to), (int64_t)span),
		      since = difference(ns, a->from);
	const double more = floor((double)since * ((double)excess / (double)span));
	return sum(sum(a->to, since), fabs(more) < 9e18 ? (int64_t)more : 0);
}

int64_t clock_map_time(const struct clock_map *m, int64_t ns)
{
	uint32_t low = 0, high = m->count ? m->count - 1 : 0;
	if (m->count < 2)
		return sum(ns, m->shift);
	while (high - low > 1) { /* the piece that contains the time, or is nearest to it */
		const uint32_t middle = low + (high - low) / 2;
		if (m->knots[middle].from <= ns)
			low = middle;
		else
			high = middle;
	}
	return sum(along(&m->knots[low], &m->knots[low + 1], ns), m->shift);
}

/* Convert a result of the map back to a time. */
static int64_t time_before(const struct clock_map *m, int64_t ns)
{
	uint32_t low = 0;
	ns = difference(ns, m->shift);
	if (m->count < 2)
		return ns;
	while (low + 2 < m->count && m->knots[low + 1].to <= ns)
		low++;
	const struct clock_knot a = {m->knots[low].to, m->knots[low].from},
				b = {m->knots[low + 1].to, m->knots[low + 1].from};
	return along(&a, &b, ns);
}

static int compare_times(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* Distance of the outermost knots of a composed map from the others, whose distances may be so
 * small that rounding to 1 ns would change the rate of what is extrapolated from them. */
#define FAR_NS (INT64_C(1) << 36)

int clock_map_compose(
	struct clock_map *ret, const struct clock_map *first, const struct clock_map *second)
{
	const uint32_t count = first->count + second->count;
	int64_t *times = calloc((size_t)count + 2, sizeof(*times));
	int error = times ? 0 : -ENOMEM;
	*ret = (struct clock_map){.shift = count ? 0 : sum(first->shift, second->shift)};
	for (uint32_t i = 0; times && i < count; i++)
		times[i] = i < first->count
			? first->knots[i].from
			: time_before(first, second->knots[i - first->count].from);
	if (times && count) {
		qsort(times, count, sizeof(*times), compare_times);
		times[count] = sum(times[count - 1], FAR_NS);
		times[count + 1] = difference(times[0], FAR_NS);
		qsort(times, (size_t)count + 2, sizeof(*times), compare_times);
	}
	for (uint32_t i = 0; !error && count && i < count + 2; i++) {
		const struct clock_knot knot = {
			times[i], clock_map_time(second, clock_map_time(first, times[i]))};
		error = clock_map_add(ret, knot);
	}
	free(times);
	return error;
}
