/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics_batch.h - the range profilers of contexts, and batches of ranges: for hardware metrics of
 * kernels (metrics.c) and of NVTX ranges (metrics_ranges.c).
 *
 * A batch begins when the profiler starts, and ends when it stops: then the values of its ranges
 * are recorded, which waits for the device. Callers are muted and hold the lock, from
 * metrics_enter() to metrics_leave().
 */
#ifndef TRACER_CUDA_METRICS_BATCH_H
#define TRACER_CUDA_METRICS_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/core/muted.h"
#include "tracer/cuda/metrics.h"

#define METRICS_BATCH_MAX 256u /* launches or ranges of a batch: what a kill may lose */

struct thread;

/* What a range of CUPTI was: a launch, or an NVTX range. Names as records refer to them. */
struct metrics_noted {
	uint64_t ns;          /* when the launch returned, or the NVTX range began */
	uint64_t end_ns;      /* of an NVTX range; 0 = it was left open, and is not recorded */
	uint32_t correlation; /* of a launch; 0 = it is not recorded */
	uint32_t tid, domain, name; /* of an NVTX range */
};

struct metrics_context {
	void *handle; /* NULL = this entry is free */
	void *profiler;
	const struct metrics_plan *plan;
	uint8_t *counters;
	size_t counters_bytes;
	bool started;
	bool overlapped;             /* threads launched at the same time */
	bool is_graph;               /* the batch is one launch of a graph */
	uint32_t id;                 /* CUPTI's */
	uint32_t launcher;           /* thread that is launching; 0 = none */
	const struct thread *ranger; /* thread whose NVTX range is open: noted[count]; or NULL */
	uint32_t left; /* tid of a thread whose range has ended, but could not be popped; or 0 */
	uint32_t count;
	struct metrics_noted noted[METRICS_BATCH_MAX];
};

/* Whether ranges are NVTX ranges, not kernels. Set before the first context. */
extern bool metrics_by_nvtx __attribute__((visibility("hidden")));

/* Return whether metrics are wanted, and nothing has made that impossible. Any thread. */
bool metrics_are_wanted(void);

/* Enter the state of all contexts: muted, with the lock; `within`: thread.busy is set already.
 * Return false if that is not possible. */
bool metrics_enter(struct muted *ret_muted, bool within);

/* Enter as metrics_enter(), but do not wait for another thread. */
bool metrics_try_enter(struct muted *ret_muted);

/* Leave the state. When nothing is measured any more, end all batches. */
void metrics_leave(const struct muted *muted);

/* Measure nothing any more, and say why; `result` is CUPTI's. Any thread, with thread.busy set. */
void metrics_give_up(const char *why, uint32_t result);

/* Return the context with this handle, or with this id of CUPTI if it is NULL; NULL = it is not
 * measured. */
struct metrics_context *metrics_context_of(const void *handle, uint32_t id);

/* Return whether any context is measured. */
bool metrics_have_context(void);

/* Return the context in which an NVTX range of the thread is open, or NULL. */
struct metrics_context *metrics_context_ranged(const struct thread *t);

/* Begin to measure a context, and its first batch; end both. */
void metrics_context_begin(void *handle);
void metrics_context_end(struct metrics_context *c);

/* End the batch, and begin the next one. */
void metrics_batch_renew(struct metrics_context *c);

/* Begin and end an NVTX range of the calling thread, in a context in which none is open, in which
 * its own is. `is_left`: it was never popped, and is counted as dropped. */
void metrics_range_push(struct metrics_context *c, const struct metrics_noted *range);
void metrics_range_pop(struct metrics_context *c, bool is_left);

/* The calling thread's NVTX range ends, but it cannot enter: the range is popped later, as left.
 * Return whether that of a context is to be popped. The first needs no lock. */
void metrics_range_leave(uint32_t tid);
bool metrics_range_is_left(const struct metrics_context *c);

/* Streams are captured, one more or less: waiting for the device could invalidate that. Return
 * whether any is. Any thread; no lock. */
void metrics_captured(bool is_more);
bool metrics_are_captured(void);

/* Renew the batches of all contexts in which no NVTX range is open; `is_last`: of these, too. */
void metrics_batches_renew(bool is_last);

/* Forget, in a forked child, who held the lock; unless it may measure (`again`: its parent had no
 * context), also the parent's contexts: then nothing is measured. */
void metrics_batches_forked(bool again);

#endif
