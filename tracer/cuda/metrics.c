/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.c - hardware metrics at launches of kernels, at flushes and at the bounds of contexts.
 *
 * Launches are noted in their order (metrics_batch.c), so threads launch one after the other. Where
 * a thread would have waited too long for another's launch, that order is not known. A graph launch
 * is a batch of its own.
 */
#include "tracer/cuda/metrics.h"

#include "common/clock.h"
#include "common/sys.h"
#include "tracer/core/bounded_lock.h"
#include "tracer/core/state.h"
#include "tracer/cuda/functions.h"
#include "tracer/cuda/metric_samples.h"
#include "tracer/cuda/metrics_batch.h"

#define WAIT_NS 1000000000u

/* Results (CUresult) of an end of a capture that end it, too. */
#define CAPTURE_INVALID 901u
#define CAPTURE_UNJOINED 904u

void cuda_metrics_context(void *context, bool is_created)
{
	struct muted muted;
	if ((is_created && !metrics_are_wanted()) || !session.config.gpu_metrics || !context)
		return;
	if (!metrics_enter(&muted, false)) {
		if (metrics_are_wanted())
			session_count_drop(DROP_CUPTI); /* the number is not known: at least one */
		return;
	}
	struct metrics_context *c = metrics_context_of(context, 0);
	if (is_created && !c) {
		metrics_context_begin(context);
		c = metrics_context_of(context, 0);
		if (c && thread_self.metrics_range == METRICS_RANGE_WAITS)
			cuda_metrics_range_late(c->id);
	} else if (!is_created && c) {
		metrics_context_end(c);
	} else if (!is_created) {
		metric_samples_take();
	}
	metrics_leave(&muted);
}

static void launch_begin(struct metrics_context *c, uint32_t tid, bool is_graph)
{
	if (c->count == METRICS_BATCH_MAX || (is_graph && c->count))
		metrics_batch_renew(c);
	c->is_graph = is_graph;
	c->overlapped |= c->launcher && c->launcher != tid;
	c->launcher = tid;
}

static void launch_end(
	struct metrics_context *c, uint32_t tid, const struct cupti_callback *call, bool is_graph)
{
	/* The launch that creates the context has no begin in it. */
	c->overlapped |= c->launcher && c->launcher != tid;
	if (c->launcher == tid)
		c->launcher = 0;
	if (call->result && *(const uint32_t *)call->result) {
		c->is_graph = false;
		return;
	}
	if (c->count < METRICS_BATCH_MAX) {
		c->noted[c->count].ns = clock_monotonic_ns();
		c->noted[c->count++].correlation =
			cuda_call_is_recorded(call->correlation) ? call->correlation : 0;
	}
	if (is_graph)
		metrics_batch_renew(c);
}

/* Begin a launch when no other thread launches in the context, so that the order of launches is
 * known. One wait in vain is enough: a launch may depend on one of another thread. */
static void launch_enter(uint32_t context, bool is_graph)
{
	static uint32_t is_vain;
	struct muted muted;
	const uint32_t tid = (uint32_t)sys_gettid();
	uint64_t end_ns = clock_monotonic_ns() + WAIT_NS;
	while (metrics_enter(&muted, false)) {
		struct metrics_context *c = metrics_context_of(NULL, context);
		bool is_busy = c && c->started && c->launcher && c->launcher != tid && !is_vain;
		if (!is_busy || clock_monotonic_ns() >= end_ns) {
			is_vain |= is_busy;
			if (c && c->started)
				launch_begin(c, tid, is_graph);
			metrics_leave(&muted);
			return;
		}
		metrics_leave(&muted);
		session_pause(LOCK_PAUSE_NS);
	}
}

static void launch_leave(const struct cupti_callback *call, bool is_graph)
{
	struct muted muted;
	if (!metrics_enter(&muted, false))
		return;
	struct metrics_context *c = metrics_context_of(NULL, call->context_id);
	if (c && c->started)
		launch_end(c, (uint32_t)sys_gettid(), call, is_graph);
	metrics_leave(&muted);
}

/* Fetch samples. Launches may be frequent: most only look at the time, and none waits for another
 * thread, which fetches them. */
static void launch_look(void)
{
	struct muted muted;
	if (!metric_samples_are_due() || !metrics_try_enter(&muted))
		return;
	if (metric_samples_are_due())
		metric_samples_take();
	metrics_leave(&muted);
}

/* Begin the range of the thread, which had no context when it began. */
static void launch_in_range(uint32_t context)
{
	struct muted muted;
	if (!metrics_enter(&muted, false))
		return;
	cuda_metrics_range_late(context);
	metrics_leave(&muted);
}

void cuda_metrics_launch(const struct cupti_callback *call, bool is_graph)
{
	if (!metrics_are_wanted())
		return;
	if (metrics_by_nvtx) {
		if (call->site == CUPTI_ENTER && thread_self.metrics_range == METRICS_RANGE_WAITS)
			launch_in_range(call->context_id);
		return;
	}
	if (session.config.gpu_metrics_hz) {
		if (call->site == CUPTI_EXIT)
			launch_look();
		return;
	}
	if (call->site == CUPTI_ENTER)
		launch_enter(call->context_id, is_graph);
	else
		launch_leave(call, is_graph);
}

void cuda_metrics_capture(const struct cupti_callback *call, bool is_begin)
{
	const uint32_t result = call->result ? *(const uint32_t *)call->result : 0;
	if (!result || (!is_begin && (result == CAPTURE_INVALID || result == CAPTURE_UNJOINED)))
		metrics_captured(is_begin);
}

void cuda_metrics_flush(bool is_last)
{
	struct muted muted;
	if (!metrics_are_wanted())
		return;
	if (!metrics_enter(&muted, false)) {
		if (is_last)
			session_count_drop(DROP_CUPTI); /* the number is not known: at least one */
		return;
	}
	metrics_batches_renew(is_last);
	if (is_last)
		metric_samples_end();
	else
		metric_samples_take();
	metrics_leave(&muted);
}

void cuda_metrics_forked(bool again)
{
	cuda_metrics_ranges_forked();
	metrics_batches_forked(again);
	if (!again)
		metric_samples_forked();
}
