/* SPDX-License-Identifier: Apache-2.0 */
/*
 * medians.h - the further passes over a report that exact medians need (durations.h), after the
 * pass that found the groups of values.
 *
 * One thread; allocates.
 */
#ifndef READER_STATS_MEDIANS_H
#define READER_STATS_MEDIANS_H

#include <stdint.h>

#include "reader/report/contents.h"
#include "reader/stats/durations.h"

/* Groups of values: `at` returns the durations of a group. */
struct medians {
	void *user;
	uint32_t count;
	struct durations *(*at)(void *user, uint32_t index);
};

/* Run passes until all medians are known; in each pass the `batch` function of `again` passes all
 * values to durations_again(). *ret_passes: number of passes, including the first. Returns 0 or a
 * negative errno. */
int medians_find(const struct medians *m, const struct report *r,
	const struct contents_visitor *again, uint32_t *ret_passes);

#endif
