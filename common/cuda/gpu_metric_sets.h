/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_metric_sets.h - sets of hardware metrics: names that stand for lists of NVIDIA's metrics.
 * Nothing allocates; any thread.
 */
#ifndef COMMON_GPU_METRIC_SETS_H
#define COMMON_GPU_METRIC_SETS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/text.h"

/* SET(name, metrics, meaning). Each metric is known for all chips since Turing, and is counted in
 * one pass there (tests/e2e/gpu_metrics.py). */
#define GPU_METRIC_SETS(SET)                                                                     \
	SET("basic",                                                                             \
		"sm__cycles_active.avg.pct_of_peak_sustained_elapsed,"                           \
		"sm__warps_active.avg.pct_of_peak_sustained_active,"                             \
		"smsp__inst_executed.avg.per_cycle_active,dram__bytes.sum",                      \
		"how busy the multiprocessors are, with how many warps, and the memory's bytes") \
	SET("memory",                                                                            \
		"dram__bytes.sum,lts__t_bytes.sum,l1tex__t_bytes.sum,l1tex__t_sector_hit_rate."  \
		"pct",                                                                           \
		"bytes of the device's memory and of its caches")                                \
	SET("instructions",                                                                      \
		"smsp__inst_executed.sum,smsp__thread_inst_executed_per_inst_executed.ratio,"    \
		"sm__inst_executed_pipe_tensor.sum,sm__inst_executed_pipe_fma.sum",              \
		"instructions, the threads that each has, and those of two pipelines")

/* Begin of the diagnostic "... group 1 of 3 is recorded", which `trace run` reads. */
#define GPU_METRICS_GROUP "hardware metrics: group "

#define GPU_METRICS_MAX 64u /* metrics of a run, and so groups */

/* Return the number of passes that metrics take together; 0 = they cannot be counted. */
typedef size_t gpu_metric_passes(const void *user, const char **names, size_t count);

/* Divide metrics, each of which takes one pass by itself, into groups of one pass, in their order.
 * ret_ends: room for `count` ends of groups. Return the number of groups. */
static inline size_t gpu_metric_groups(const char **names, size_t count, gpu_metric_passes *passes,
	const void *user, size_t *ret_ends)
{
	size_t groups = 0;
	for (size_t begin = 0, end; begin < count; begin = end) {
		end = begin + 1;
		while (end < count && passes(user, names + begin, end + 1 - begin) == 1)
			end++;
		ret_ends[groups++] = end;
	}
	return groups;
}

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

/* Append "," and `bytes` bytes. Return false without room. */
static inline bool gpu_metric_list_append(
	char *list, size_t room, size_t *at, const char *text, size_t bytes)
{
	if (*at + bytes + 2 > room)
		return false;
	if (*at)
		list[(*at)++] = ',';
	bytes_copy(list + *at, text, bytes);
	*at += bytes;
	list[*at] = 0;
	return true;
}

/* Copy the list with the metrics of each set in its place. Return false without room. */
static inline bool gpu_metric_sets_expand(const char *wanted, char *list, size_t room)
{
	size_t at = 0;
	for (const char *end; *wanted; wanted = end + (*end == ',')) {
		const struct gpu_metric_set *set;
		size_t i = 0;
		for (end = wanted; *end && *end != ','; end++)
			;
		size_t bytes = (size_t)(end - wanted);
		while ((set = gpu_metric_set(i++)) &&
			!(text_length(set->name) == bytes && text_begins(wanted, set->name)))
			;
		if (set ? !gpu_metric_list_append(
				  list, room, &at, set->metrics, text_length(set->metrics))
			: bytes && !gpu_metric_list_append(list, room, &at, wanted, bytes))
			return false;
	}
	return true;
}

#endif
