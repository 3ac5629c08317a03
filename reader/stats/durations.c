/* SPDX-License-Identifier: Apache-2.0 */
/* durations.c - exact statistics of durations in bounded memory. */
#include "reader/stats/durations.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void durations_init(struct durations *d)
{
	*d = (struct durations){.min = UINT64_MAX};
}

void durations_release(struct durations *d)
{
	free(d->kept);
	free(d->buckets);
	durations_init(d);
}

static int kept_start(struct durations *d)
{
	d->kept_count = 0;
	if (!d->kept)
		d->kept = malloc(DURATIONS_KEPT_MAX * sizeof(*d->kept));
	return d->kept ? 0 : -ENOMEM;
}

static int buckets_start(struct durations *d)
{
	if (!d->buckets)
		d->buckets = malloc(DURATIONS_BUCKETS * sizeof(*d->buckets));
	if (!d->buckets)
		return -ENOMEM;
	memset(d->buckets, 0, DURATIONS_BUCKETS * sizeof(*d->buckets));
	return 0;
}

/* Make room: the array of kept values is missing or full. */
int durations_spill(struct durations *d)
{
	if (!d->kept)
		return kept_start(d);
	if (buckets_start(d))
		return -ENOMEM;
	for (uint32_t i = 0; i < d->kept_count; i++)
		d->buckets[durations_bucket(d->kept[i])]++;
	free(d->kept);
	d->kept = NULL;
	return 0;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void finish(struct durations *d, uint64_t lower, uint64_t upper)
{
	d->middle[0] = lower;
	d->middle[1] = upper;
	d->mode = DURATIONS_DONE;
	free(d->kept);
	free(d->buckets);
	d->kept = d->buckets = NULL;
}

/* Find the middle values in the kept values, which are all values from `below` on. */
static void select_kept(struct durations *d)
{
	uint64_t first = (d->count - 1) / 2 - d->below, second = d->count / 2 - d->below;
	qsort(d->kept, d->kept_count, sizeof(*d->kept), compare_u64);
	if (second >= d->kept_count) /* impossible if every pass saw the same values */
		second = d->kept_count ? d->kept_count - 1 : 0;
	if (first > second)
		first = second;
	finish(d, d->kept_count ? d->kept[first] : d->low,
		d->kept_count ? d->kept[second] : d->low);
}

static void bucket_range(
	const struct durations *d, uint32_t bucket, uint64_t *ret_low, uint64_t *ret_high)
{
	if (d->mode == DURATIONS_DIVIDE) {
		*ret_low = d->low + ((uint64_t)bucket << d->shift);
		*ret_high = *ret_low + ((1ull << d->shift) - 1);
		*ret_high = *ret_high > d->high ? d->high : *ret_high;
	} else if (bucket < 32) {
		*ret_low = *ret_high = bucket;
	} else {
		uint32_t shift = (bucket >> 5) - 1;
		*ret_low = (32ull + (bucket & 31)) << shift;
		*ret_high = *ret_low + ((1ull << shift) - 1);
	}
}

static int divide_start(struct durations *d)
{
	d->mode = DURATIONS_DIVIDE;
	for (d->shift = 0; (d->high - d->low) >> d->shift >= DURATIONS_BUCKETS;)
		d->shift++;
	return buckets_start(d) ? -ENOMEM : 1;
}

/* Find the bucket of the lower middle value and choose how the next pass continues. */
static int narrow(struct durations *d)
{
	uint64_t first = (d->count - 1) / 2, second = d->count / 2;
	uint32_t bucket = 0;
	while (bucket < DURATIONS_BUCKETS - 1 && d->below + d->buckets[bucket] <= first)
		d->below += d->buckets[bucket++];
	uint64_t inside = d->buckets[bucket], low, high;
	bucket_range(d, bucket, &low, &high);
	d->low = low;
	d->high = high;
	if (d->below + inside <= second) {
		d->mode = DURATIONS_EDGES;
		d->middle[0] = low;
		d->middle[1] = UINT64_MAX;
		return 1;
	}
	if (low == high) {
		finish(d, low, low);
		return 0;
	}
	if (inside > DURATIONS_KEPT_MAX)
		return divide_start(d);
	d->mode = DURATIONS_COLLECT;
	return kept_start(d) ? -ENOMEM : 1;
}

int durations_pass_end(struct durations *d)
{
	if (d->mode == DURATIONS_DONE)
		return 0;
	if (!d->count)
		finish(d, 0, 0);
	else if (d->mode == DURATIONS_EDGES)
		finish(d, d->middle[0], d->middle[1]);
	else if (d->kept)
		select_kept(d);
	else
		return narrow(d);
	return 0;
}

int durations_again(struct durations *d, uint64_t value)
{
	if (d->mode == DURATIONS_EDGES) {
		if (value <= d->high)
			d->middle[0] = value > d->middle[0] ? value : d->middle[0];
		else
			d->middle[1] = value < d->middle[1] ? value : d->middle[1];
	} else if (d->mode == DURATIONS_DIVIDE && value >= d->low && value <= d->high) {
		d->buckets[(value - d->low) >> d->shift]++;
	} else if (d->mode == DURATIONS_COLLECT && value >= d->low && value <= d->high &&
		d->kept_count < DURATIONS_KEPT_MAX) {
		d->kept[d->kept_count++] = value;
	}
	return 0;
}

double durations_mean(const struct durations *d)
{
	return d->count ? (double)((long double)d->total / d->count) : 0;
}

double durations_median(const struct durations *d)
{
	return (double)(((long double)d->middle[0] + d->middle[1]) / 2);
}

/* Compute with integers while they fit, because n * sum(x^2) - sum(x)^2 loses most digits in
 * floating point. */
double durations_deviation(const struct durations *d)
{
	unsigned __int128 a, b;
	if (d->count < 2 || d->overflow)
		return 0;
	long double n = d->count, spread;
	if (!__builtin_mul_overflow(d->squares, (unsigned __int128)d->count, &a) &&
		!__builtin_mul_overflow(d->total, d->total, &b))
		spread = a > b ? (long double)(a - b) / n : 0;
	else
		spread =
			(long double)d->squares - (long double)d->total / n * (long double)d->total;
	return spread > 0 ? (double)sqrtl(spread / (n - 1)) : 0;
}
