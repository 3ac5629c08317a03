/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - entry of an NVTX call: the guard, and room for its record.
 *
 * Between nvtx_enter() and thread_leave() the thread is busy; nothing there makes a system call,
 * but for a thread's first call and the end of a chunk. Owning thread, async-signal-safe.
 */
#ifndef TRACER_NVTX_RECORD_H
#define TRACER_NVTX_RECORD_H

#include <stdint.h>

#include "common/spool.h"
#include "tracer/core/gate.h"
#include "tracer/core/lane.h"
#include "tracer/core/thread.h"

/* Take the slow path of nvtx_enter(): the thread has no lane, a handler has interrupted its tracer
 * code, another task uses its memory, or this is a forked child. */
__attribute__((cold, noinline)) struct thread *nvtx_enter_first(struct thread *t);

/* Return the calling thread, with a lane and busy; NULL = it cannot record now, and the event has
 * been counted as dropped. */
static inline __attribute__((always_inline)) struct thread *nvtx_enter(void)
{
	struct thread *t = &thread_self;
	if (__builtin_expect(t->busy || t->shared || !own_words.alive, 0))
		return nvtx_enter_first(t);
	if (__builtin_expect(!thread_try_enter(t), 0))
		return nvtx_enter_first(t);
	if (__builtin_expect(t->lane != NULL, 1)) /* see thread_enter_attached() */
		return t;
	thread_give(t);
	return nvtx_enter_first(t);
}

static inline struct record *nvtx_room(struct thread *t, unsigned slots)
{
	struct record *r = lane_room_at_hand(t, slots);
	return __builtin_expect(r != NULL, 1) ? r : lane_room(t, slots);
}

static inline unsigned nvtx_slots(uint64_t bytes)
{
	return 1 + (unsigned)((bytes + RECORD_BYTES - 1) / RECORD_BYTES);
}

static inline uint64_t nvtx_word(enum record_kind kind, uint64_t flags, uint64_t bytes)
{
	return bytes << RECORD_LENGTH_SHIFT | flags << RECORD_FLAGS_SHIFT | kind;
}

#endif
