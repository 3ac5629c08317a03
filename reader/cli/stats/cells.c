/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cells.c - table cells that the statistics of calls and of ranges share.
 */
#include "reader/cli/stats/cells.h"

#include <inttypes.h>

uint64_t stats_saturated(unsigned __int128 number)
{
	return number > UINT64_MAX ? UINT64_MAX : (uint64_t)number;
}

void stats_duration_cells(struct table *t, const struct durations *d, long double all)
{
	table_cell(t, "%.1f", all > 0 ? (double)(100 * (long double)d->total / all) : 0);
	table_cell(t, "%" PRIu64, stats_saturated(d->total));
	table_cell(t, "%" PRIu64, d->count);
	table_cell(t, "%.1f", durations_mean(d));
	table_cell(t, "%.1f", durations_median(d));
	table_cell(t, "%" PRIu64, d->min);
	table_cell(t, "%" PRIu64, d->max);
	table_cell(t, "%.1f", durations_deviation(d));
}
