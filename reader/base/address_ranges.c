/* SPDX-License-Identifier: Apache-2.0 */
/* address_ranges.c - address ranges sorted by their start, searched by address. */
#include "reader/base/address_ranges.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"

/* Maximum number of ranges examined below an address; real ranges nest a few deep. */
#define EXAMINED_MAX 4096u

void ranges_release(struct ranges *r)
{
	free(r->rows);
	*r = (struct ranges){0};
}

int ranges_add(struct ranges *r, uint64_t low, uint64_t high, uint32_t value)
{
	if (low >= high)
		return 0;
	if (array_room(&r->rows, r->count, &r->capacity, sizeof(*r->rows)))
		return -ENOMEM;
	/* until the sort, `reach` holds the order in which ranges were added */
	r->rows[r->count] = (struct range){low, high, r->count, value};
	r->count++;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return (x->reach > y->reach) - (x->reach < y->reach);
}

void ranges_sort(struct ranges *r)
{
	uint64_t reach = 0;
	if (r->count)
		qsort(r->rows, r->count, sizeof(*r->rows), compare);
	for (uint32_t i = 0; i < r->count; i++) {
		reach = r->rows[i].high > reach ? r->rows[i].high : reach;
		r->rows[i].reach = reach;
	}
}

const struct range *ranges_find(const struct ranges *r, uint64_t address, const struct range *after)
{
	uint32_t low = 0, high = after ? (uint32_t)(after - r->rows) : r->count;
	if (after)
		low = high;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (r->rows[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t i = 0; i < EXAMINED_MAX && low && r->rows[low - 1].reach > address; i++)
		if (r->rows[--low].high > address)
			return &r->rows[low];
	return NULL;
}
