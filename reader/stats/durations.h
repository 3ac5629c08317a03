/* SPDX-License-Identifier: Apache-2.0 */
/*
 * durations.h - exact count, total, minimum, maximum, standard deviation and median of any number
 * of durations in bounded memory.
 *
 * The median is exact, so it may need more than one pass over the values. Few values are simply
 * stored. Many are counted in buckets, which show the range that contains the median; the next pass
 * examines only that range, and so on (2 or 3 passes for real data, 7 at most). A set of durations
 * uses 32 KiB.
 *
 *   durations_init(); durations_add() for every value; while (durations_pass_end() == 1) {
 *   durations_again() for every value }; results
 *
 * One thread per set. durations_add() and durations_pass_end() allocate.
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
	bool overflow; /* the sum of squares did not fit; only in damaged reports */
	enum durations_mode mode;
	uint64_t *kept; /* values, while they are few */
	uint32_t kept_count;
	uint64_t *buckets;
	uint64_t low, high; /* range that contains the lower middle value */
	uint64_t below;     /* number of values less than `low` */
	uint32_t shift;     /* log2 of the width of a bucket of DURATIONS_DIVIDE */
	uint64_t middle[2]; /* the two middle values; equal when the count is odd */
};

/* Initialize an empty set; release frees its memory. */
void durations_init(struct durations *d);
void durations_release(struct durations *d);
/* Make room for a value of the first pass: create the array, or move its values to buckets. Called
 * by durations_add() alone. Returns 0 or -ENOMEM. */
int durations_spill(struct durations *d);
/* Add a value in a later pass. Returns 0. */
int durations_again(struct durations *d, uint64_t value);

/* End a pass. Returns 1 if all values are needed again, 0 if the results are final, or -ENOMEM. */
int durations_pass_end(struct durations *d);

/* Return the mean or the median in ns, after the last pass; 0 without values. */
double durations_mean(const struct durations *d);
double durations_median(const struct durations *d);
/* Return the standard deviation of a sample (n - 1); 0 for one value. */
double durations_deviation(const struct durations *d);

/* Return the bucket of a value in the first pass: 32 buckets for each power of two. */
static inline uint32_t durations_bucket(uint64_t value)
{
	if (value < 32)
		return (uint32_t)value;
	uint32_t exponent = 63u - (uint32_t)__builtin_clzll(value);
	return (exponent - 4) << 5 | (uint32_t)(value >> (exponent - 5) & 31);
}

/* Add a value in the first pass. Returns 0 or -ENOMEM. */
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
