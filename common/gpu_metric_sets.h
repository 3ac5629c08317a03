/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_metric_sets.h - sets of hardware metrics: names that stand for lists of NVIDIA's metrics.
 */
#ifndef COMMON_GPU_METRIC_SETS_H
#define COMMON_GPU_METRIC_SETS_H

#include <stdbool.h>
#include <stddef.h>

/* SET(name, metrics, meaning). Each metric is known for all chips since Turing, and is counted in
 * one pass there (tests/e2e/gpu_metrics.py). */
#define GPU_METRIC_SETS(SET)                                                                       \
	SET("basic",                                                                               \
		"sm__cycles_active.avg.pct_of_peak_sustained_elapsed,"                             \
		"sm__warps_active.avg.pct_of_peak_sustained_active,"                               \
		"smsp__inst_executed.avg.per_cycle_active,dram__bytes.sum",                        \
		"how busy the multiprocessors are, with how many warps, and the memory's bytes")   \
	SET("memory",                                                                              \
		"dram__bytes.sum,lts__t_bytes.sum,l1tex__t_bytes.sum,l1tex__t_sector_hit_rate.pct", \
		"bytes of the device's memory and of its caches")                                  \
	SET("instructions",                                                                        \
		"smsp__inst_executed.sum,smsp__thread_inst_executed_per_inst_executed.ratio,"      \
		"sm__inst_executed_pipe_tensor.sum,sm__inst_executed_pipe_fma.sum",                \
		"instructions, the threads that each has, and those of two pipelines")

struct gpu_metric_set {
	const char *name, *metrics, *meaning;
};

/* Return the set number `i`, from 0, or NULL. */
static inline const struct gpu_metric_set *gpu_metric_set(size_t i)
{
#define GPU_METRIC_SET_ROW(name, metrics, meaning) {name, metrics, meaning},
	static const struct gpu_metric_set sets[] = {GPU_METRIC_SETS(GPU_METRIC_SET_ROW)};
#undef GPU_METRIC_SET_ROW
	return i < sizeof(sets) / sizeof(sets[0]) ? &sets[i] : NULL;
}

#endif
