/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto.h - a report as a Perfetto trace: protobuf messages of its tracks and events.
 *
 * Source: https://perfetto.dev/docs/reference/trace-packet-proto (field numbers),
 * https://perfetto.dev/docs/reference/synthetic-track-event (tracks, flows, interned data); checked
 * with the descriptors of the PyPI package perfetto 0.59.1.
 */
#ifndef READER_EXPORT_TIMELINE_PERFETTO_H
#define READER_EXPORT_TIMELINE_PERFETTO_H

#include <stdio.h>

#include "reader/export/timeline/timeline.h"

/* Time that a thread spent in a state: "running", "runnable", "blocked", "stopped" or "unknown". */
struct perfetto_state {
	const struct process *process;
	uint32_t tid;
	uint64_t start_ns, duration_ns; /* start: CLOCK_MONOTONIC */
	const char *name, *detail;      /* detail: "" = none */
	int cpu; /* CPU that the thread ran on or left, from a context switch; -1 = not known */
};

/* Call `put` with `sink` for all states of threads, in order of start for each thread. Returns 0,
 * or the first error of `put`, or a negative errno. */
typedef int (*perfetto_states)(
	void *user, int (*put)(void *sink, const struct perfetto_state *), void *sink);

/* Write all events of a timeline that timeline_read() has read, and the states of its threads.
 * gpu_is_typed: work and memory of GPUs are Perfetto's typed events (perfetto_gpu.h), else slices
 * and counters of tracks.
 * CPU samples are messages of their own, with their callchains; states are slices of a track below
 * the thread's, and those of context switches also the scheduling of their CPUs. `states` may be
 * NULL. Returns 0 or a negative errno; -EPIPE if the stream failed. One thread; allocates. */
int perfetto_write(
	FILE *out, struct timeline *t, bool gpu_is_typed, perfetto_states states, void *user);

#endif
