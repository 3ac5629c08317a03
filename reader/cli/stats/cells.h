/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cells.h - table cells that the statistics of calls and of ranges share.
 *
 * No state. One thread.
 */
#ifndef READER_CLI_STATS_CELLS_H
#define READER_CLI_STATS_CELLS_H

#include <stdint.h>

#include "reader/cli/base/table.h"
#include "reader/stats/durations.h"

/* Clamp a sum to UINT64_MAX. */
uint64_t stats_saturated(unsigned __int128 number);

/* Append the cells from "Time (%)" to "StdDev (ns)" of a row, as in nsys. all: the time in
 * nanoseconds that counts as 100 %. */
void stats_duration_cells(struct table *t, const struct durations *d, long double all);

#endif
