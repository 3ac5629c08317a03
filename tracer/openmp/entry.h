/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry.h - entries of the source `openmp`, shared by the tool interface (callbacks.c) and the
 * entry points of libgomp (gomp.c): numbers of regions and tasks, and regions of a thread that may
 * not have a lane yet.
 *
 * The thread that the event is about; no allocation or lock, and no system call but for a thread's
 * first event and the end of a chunk.
 */
#ifndef TRACER_OPENMP_ENTRY_H
#define TRACER_OPENMP_ENTRY_H

#include "tracer/openmp/openmp.h"
#include "tracer/session/entry.h"
#include "tracer/session/fork.h"

/* The last numbers of parallel regions and tasks in this process. */
extern uint64_t omp_parallels __attribute__((visibility("hidden")));
extern uint64_t omp_tasks __attribute__((visibility("hidden")));

/* Return the next number. Any thread. */
static inline uint64_t omp_number(uint64_t *last)
{
	return __atomic_add_fetch(last, 1, __ATOMIC_RELAXED);
}

static inline struct thread *event_enter_if_open(void)
{
	return gate_is_open() ? event_enter() : NULL;
}

/* Record an event without a duration. */
static inline void omp_event_put(struct omp_region_data d)
{
	struct thread *t = event_enter_if_open();
	if (!t)
		return;
	omp_event(t, &d);
	thread_leave(t);
}

/* Begin or end (enum of ompt_abi.h) a region. */
static inline void omp_region(int endpoint, struct omp_region_data d)
{
	struct thread *t = endpoint == OMPT_BEGIN ? event_enter_if_open() : event_enter();
	if (!t)
		return;
	if (endpoint == OMPT_BEGIN) {
		omp_begin(t, &d);
	} else if (endpoint == OMPT_END) {
		d.parallel = d.object = 0; /* a runtime need not repeat them */
		omp_end(t, &d);
	}
	thread_leave(t);
}

#endif
