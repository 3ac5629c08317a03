/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_record.h - how an NVTX call comes to its thread's lane: the way in, and room for a record.
 *
 * Between nvtx_enter() and thread_leave() the thread is busy; nothing there makes a system call,
 * but for a thread's first call and the end of a chunk. Owning thread, async-signal-safe.
 */
#ifndef TRACER_NVTX_RECORD_H
#define TRACER_NVTX_RECORD_H

#include <stdint.h>

#include "common/spool.h"
#include "tracer/gate.h"
#include "tracer/lane.h"
#include "tracer/thread.h"

/* nvtx_enter() for a thread without a lane, one whose tracer code a handler interrupted, one whose
 * memory another task uses, and a forked child. */
__attribute__((cold, noinline)) struct thread *nvtx_enter_first(struct thread *t);

/* The thread with a lane, and busy; NULL = it cannot record now. */
static inline __attribute__((always_inline)) struct thread *nvtx_enter(void)
{
	struct thread *t = &thread_self;
	if (__builtin_expect(!t->lane || t->busy || t->shared || !own_words.alive, 0))
		return nvtx_enter_first(t);
	if (__builtin_expect(!thread_try_enter(t), 0))
		return nvtx_enter_first(t);
	return t;
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
