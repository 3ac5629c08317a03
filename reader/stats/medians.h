/* SPDX-License-Identifier: Apache-2.0 */
/*
 * medians.h - the passes over a report that exact medians need (durations.h), behind the one that
 * found the values' groups.
 *
 * One thread; allocates.
 */
#ifndef READER_STATS_MEDIANS_H
#define READER_STATS_MEDIANS_H

#include <stdint.h>

#include "reader/report/contents.h"
#include "reader/stats/durations.h"

/* The groups: `at` gives the durations of each. */
struct medians {
	void *user;
	uint32_t count;
	struct durations *(*at)(void *user, uint32_t index);
};

/* Each pass gives all values to durations_again(), by the visitor's `batch`. *ret_passes: how many
 * there were, with the first. 0 or a negative errno. */
int medians_find(const struct medians *m, const struct report *r,
	const struct contents_visitor *again, uint32_t *ret_passes);

#endif
