/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric_samples.h - hardware metrics of devices, sampled at a fixed rate by CUPTI's PM sampling
 * (LIBTRACE_GPU_METRICS_FREQUENCY).
 *
 * The device counts by itself and stores samples in a buffer; they are fetched at launches, at most
 * ten times a second, and at flushes. What runs on the device at the same time counts, too, also
 * that of other processes. Callers hold the lock of metrics.c and are muted.
 */
#ifndef TRACER_CUDA_METRIC_SAMPLES_H
#define TRACER_CUDA_METRIC_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/cuda/metrics.h"

#define METRIC_DEVICES_MAX 16u

/* Begin to sample a device by the plan, which must stay. Return NULL, or why not; *ret_result is
 * CUPTI's result. Does nothing if the device is sampled already. */
const char *metric_samples_begin(
	uint32_t device, const struct metrics_plan *plan, uint64_t hz, uint32_t *ret_result);

/* Return whether samples were last fetched 100 ms ago or earlier. Needs no lock, and no muting. */
bool metric_samples_are_due(void);

/* Record the samples so far, but not for much more than 20 ms: the rest later, or as missing. */
void metric_samples_take(void);

/* Record the samples so far, and sample no more. */
void metric_samples_end(void);

/* Forget the parent's samplers in a forked child. */
void metric_samples_forked(void);

#endif
