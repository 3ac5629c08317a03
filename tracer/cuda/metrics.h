/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - hardware metrics of kernels or NVTX ranges, by CUPTI's range profiler
 * (LIBTRACE_GPU_METRICS), or of devices in time (metric_samples.h).
 *
 * The device counts for each kernel by itself, so kernels no longer run at the same time; or for
 * an NVTX range, whose kernels run as without. What does not fit one pass is left to other runs of
 * the program: the metrics are divided into groups of one pass, and LIBTRACE_GPU_METRICS_PASS says
 * which of them this run collects. Nothing here runs unless metrics are wanted. Any thread, from
 * CUPTI's callbacks; loads libraries, allocates, waits for the device, all of it muted. What goes
 * wrong is said in the report, once.
 */
#ifndef TRACER_CUDA_METRICS_H
#define TRACER_CUDA_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cuda/gpu_metric_sets.h"
#include "tracer/cuda/cupti.h"

/* The metrics of one pass, for one chip. */
struct metrics_plan {
	void *host; /* evaluates the counters; NULL = no plan */
	const char *chip;
	int profiler; /* enum profiler_type */
	char text[4096];
	const char *names[GPU_METRICS_MAX];
	uint32_t count;
	uint32_t group, groups; /* which group of the wanted metrics these are, from 0 */
	uint8_t *config;
	size_t config_bytes;
};

/* Make the plan of a profiler (enum profiler_type) for a chip, of the group number `pass` (modulo
 * their number) of a comma-separated list of metrics and sets (common/cuda/gpu_metric_sets.h).
 * Return NULL or, if there is no plan, why. Unknown metrics, and those that need more than one
 * pass, are named in diagnostics and left out. Muted (core/muted.h). */
const char *metrics_plan_make(const char *chip, int profiler, const char *wanted, uint64_t pass,
	struct metrics_plan *ret_plan);

/* A context was created, or is about to be destroyed: its kernels are measured in between. */
void cuda_metrics_context(void *context, bool is_created);

/* A call that launches kernels begins or returns: only the outermost of nested ones. */
void cuda_metrics_launch(const struct cupti_callback *call, bool is_graph);

/* The thread's NVTX range whose metrics are wanted. */
enum metrics_range {
	METRICS_RANGE_NONE = 0,
	METRICS_RANGE_OPEN, /* is being measured */
	METRICS_RANGE_WAITS /* the thread had no context when it began */
};

/* A call that begins or ends the capture of a stream returns. */
void cuda_metrics_capture(const struct cupti_callback *call, bool is_begin);

/* Begin the calling thread's range that waits for a context, in the context with this id of CUPTI.
 * Muted, with the lock of metrics_batch.h. */
void cuda_metrics_range_late(uint32_t context);

/* Record the values of all launches and samples so far; `is_last`: end samples. thread.busy not
 * set. */
void cuda_metrics_flush(bool is_last);

/* Forget, in a forked child, the parent's ranges that wait, and its locks; unless the parent had
 * not called CUDA and the child is recorded (`again`), also its contexts: then nothing is
 * measured. */
void cuda_metrics_forked(bool again);
void cuda_metrics_ranges_forked(void);

#endif
