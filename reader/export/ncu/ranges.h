/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranges.h - hardware metrics of NVTX ranges (CUDA_RANGE_METRIC rows) as results of ranges in a
 * report of Nsight Compute (RangeResult of ncu.proto). One thread; allocates; 48 bytes per value.
 */
#ifndef READER_EXPORT_NCU_RANGES_H
#define READER_EXPORT_NCU_RANGES_H

#include <stdint.h>

#include "common/ncu/launch_nvtx.h"
#include "reader/export/ncu/metrics.h"
#include "reader/file/batch.h"

/* All zero = empty. */
struct ncu_ranges {
	struct ncu_range_value {
		int64_t start_ns;
		uint32_t process, tid, context;
		uint32_t domain, text; /* ids of texts */
		uint32_t metric;       /* index in ncu_metrics.names */
		double value;
	} * rows;
	uint32_t count, capacity;
};

/* The result of a range. */
struct ncu_range_result {
	Ncu__RangeResult message;
	Ncu__ProfileMetricResult metrics[NCU_METRIC_NAMES_MAX], *list[NCU_METRIC_NAMES_MAX];
	Ncu__ProfileMetricValue values[NCU_METRIC_NAMES_MAX];
};

/* Collect the rows of a batch of any kind, and the names of their metrics, in the first pass.
 * Returns 0 or -ENOMEM. */
int ncu_ranges_collect(
	struct ncu_ranges *r, struct ncu_metrics *names, const struct event_batch *batch);

/* Sort the rows, so that those of a range follow each other. Call it once. */
void ncu_ranges_index(struct ncu_ranges *r);

/* Fill the result of the range whose first row is number `at`. Return the number of its rows. The
 * caller adds the NVTX state. */
uint32_t ncu_range_fill(const struct ncu_ranges *r, uint32_t at, struct ncu_range_result *ret);

/* Free the rows; `r` is empty then. */
void ncu_ranges_release(struct ncu_ranges *r);

#endif
