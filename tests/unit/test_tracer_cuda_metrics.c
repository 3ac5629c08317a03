/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer_cuda_metrics.c - hardware metrics while a thread holds their lock: a launch does not
 * wait for it, and what the last flush cannot fetch is counted.
 */
#define _GNU_SOURCE
#include "tap.h"
#include "tracer_session.h"

#include "tracer/cuda/metrics_batch.c"
#include "tracer/cuda/metrics.c"

static uint64_t dropped(void)
{
	return session.spool->dropped[DROP_CUPTI];
}

static void launches(void)
{
	const struct cupti_callback call = {.site = CUPTI_EXIT};
	session.config.gpu_metrics_hz = 1000;
	metrics_lock = LOCK_HELD;
	cuda_metrics_launch(&call, false);
	check(metrics_lock == LOCK_HELD && !dropped(),
		"a launch leaves the samples to the thread that fetches them, and gives nothing "
		"up");
	metrics_lock = LOCK_FREE;
	check(metric_samples_are_due(), "nothing was fetched");
	cuda_metrics_launch(&call, false);
	check(metrics_lock == LOCK_FREE && !metric_samples_are_due(),
		"samples are fetched when the lock is free");
}

static void flushes(void)
{
	metrics_lock = LOCK_GIVEN_UP;
	cuda_metrics_flush(false);
	check(!dropped(), "a flush that cannot fetch loses nothing: a later one does");
	cuda_metrics_flush(true);
	check(dropped() == 1, "the last flush counts what it cannot fetch");
	cuda_metrics_context(&metrics_lock, false);
	check(dropped() == 2, "so does the end of a context");
	cuda_metrics_forked(false);
	cuda_metrics_flush(true);
	check(dropped() == 2, "a forked child measures nothing, and loses nothing");
}

int main(void)
{
	if (!tracer_session_start())
		return 1;
	session.config.gpu_metrics = "all";
	launches();
	flushes();
	tracer_session_end();
	return tap_done();
}
