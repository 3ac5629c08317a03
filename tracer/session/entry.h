/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry.h - entry of a source that another library calls back (NVTX, OpenMP): the guard, and a
 * lane.
 *
 * Between event_enter() and thread_leave() the thread is busy; nothing there makes a system call,
 * but for a thread's first event and the end of a chunk. Owning thread, async-signal-safe.
 */
#ifndef TRACER_SESSION_ENTRY_H
#define TRACER_SESSION_ENTRY_H

#include "tracer/core/gate.h"
#include "tracer/core/thread.h"

/* Take the slow path of event_enter(): the thread has no lane, a handler has interrupted its tracer
 * code, another task uses its memory, or this is a forked child. */
__attribute__((cold, noinline)) struct thread *event_enter_first(struct thread *t);

/* Return the calling thread, with a lane and busy; NULL = it cannot record now, and the event has
 * been counted as dropped. */
static inline __attribute__((always_inline)) struct thread *event_enter(void)
{
	struct thread *t = &thread_self;
	if (__builtin_expect(t->busy || t->shared || !own_words.alive, 0))
		return event_enter_first(t);
	if (__builtin_expect(!thread_try_enter(t), 0))
		return event_enter_first(t);
	if (__builtin_expect(t->lane != NULL, 1)) /* see thread_enter_attached() */
		return t;
	thread_give(t);
	return event_enter_first(t);
}

#endif
