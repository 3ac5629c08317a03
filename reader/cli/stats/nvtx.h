/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx.h - the rows of the NVTX reports, with the columns of nsys.
 *
 * One thread.
 */
#ifndef READER_CLI_STATS_NVTX_H
#define READER_CLI_STATS_NVTX_H

#include "reader/cli/base/table.h"
#include "reader/stats/nvtx_ranges.h"

#define NVTX_SUM_COLUMNS 10u
#define NVTX_STYLE_COLUMNS 9u
#define NVTX_TRACE_COLUMNS 14u

extern const struct table_column nvtx_sum_columns[NVTX_SUM_COLUMNS];
extern const struct table_column nvtx_style_columns[NVTX_STYLE_COLUMNS];
extern const struct table_column nvtx_trace_columns[NVTX_TRACE_COLUMNS];

/* Append the sums of all ranges with a column for their style (nvtx_sum_fill()), or those of one
 * style. */
void nvtx_sum_fill(struct table *t, const struct nvtx_sums *sums);
void nvtx_style_fill(struct table *t, const struct nvtx_sums *sums, enum nvtx_style style);

/* Append one row per range. Times are in nanoseconds since origin_ns. */
void nvtx_trace_fill(
	struct table *t, const struct nvtx_trace *trace, struct contents *c, uint64_t origin_ns);

#endif
