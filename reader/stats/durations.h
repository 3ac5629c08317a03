/* SPDX-License-Identifier: Apache-2.0 */
/*
 * durations.h - exact count, total, least, greatest, standard deviation and median of any number of
 * durations in bounded memory.
 *
 * The median is exact, so it may take more than one pass over the values: few values are simply
 * kept; many are counted in buckets, which tell in which range the middle lies, and the next pass
 * looks into that range only, until it is found (2 or 3 passes for any real data, 7 at most). 32
 * KiB per set of durations.
 *
 *   durations_init(); durations_add() for every value; while (durations_pass_end() == 1) {
 * durations_again() for every value }; results
 *
 * One thread per set. add, again and pass_end allocate and return -ENOMEM.
 */
#ifndef READER_STATS_DURATIONS_H
#define READER_STATS_DURATIONS_H

#include <stdbool.h>
#include <stdint.h>

#define DURATIONS_KEPT_MAX 4096u
#define DURATIONS_BUCKETS 2048u

enum durations_mode {
	DURATIONS_FIRST,
	DURATIONS_COLLECT,
	DURATIONS_DIVIDE,
	DURATIONS_EDGES,
	DURATIONS_DONE
};

struct durations {
	uint64_t count, min, max;
	unsigned __int128 total, squares;
	bool overflow; /* the squares did not fit; only damaged reports get there */
	enum durations_mode mode;
	uint64_t *kept; /* values, while they are few */
	uint32_t kept_count;
	uint64_t *buckets;
	uint64_t low, high; /* the lower middle value is in this range */
	uint64_t below;     /* how many values are less than `low` */
	uint32_t shift;     /* log2 of the width of a bucket of DURATIONS_DIVIDE */
	uint64_t middle[2]; /* the two middle values; equal when the count is odd */
};

void durations_init(struct durations *d);
void durations_release(struct durations *d);
int durations_spill(struct durations *d);
int durations_again(struct durations *d, uint64_t value);

/* 1 = all values are wanted once more, 0 = done, -ENOMEM. */
int durations_pass_end(struct durations *d);

double durations_mean(const struct durations *d);
double durations_median(const struct durations *d);
/* Of a sample (n - 1); 0 for one value. */
double durations_deviation(const struct durations *d);

/* First pass: 32 buckets for each power of two. */
static inline uint32_t durations_bucket(uint64_t value)
{
	if (value < 32)
		return (uint32_t)value;
	uint32_t exponent = 63u - (uint32_t)__builtin_clzll(value);
	return (exponent - 4) << 5 | (uint32_t)(value >> (exponent - 5) & 31);
}

static inline int durations_add(struct durations *d, uint64_t value)
{
	d->count++;
	d->total += value;
	d->overflow |=
		__builtin_add_overflow(d->squares, (unsigned __int128)value * value, &d->squares);
	d->min = value < d->min ? value : d->min;
	d->max = value > d->max ? value : d->max;
	if (d->buckets) {
		d->buckets[durations_bucket(value)]++;
		return 0;
	}
	if (d->kept_count == DURATIONS_KEPT_MAX || !d->kept) {
		int error = durations_spill(d);
		if (error)
			return error;
		if (d->buckets) {
			d->buckets[durations_bucket(value)]++;
			return 0;
		}
	}
	d->kept[d->kept_count++] = value;
	return 0;
}

#endif
