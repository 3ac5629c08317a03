/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bounded_lock.h - a lock for rare, short work, which nobody waits for longer than a bound, and
 * once.
 *
 * Whoever held it may never give it back: a thread that was cancelled, left by siglongjmp from a
 * handler, or missing in a forked child. Then the work is left out, and the program goes on. A word
 * of 0 is free. Any thread, with thread.busy set, so no handler of the holder's thread wants it.
 */
#ifndef TRACER_BOUNDED_LOCK_H
#define TRACER_BOUNDED_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "tracer/session.h"

enum bounded_lock { LOCK_FREE = 0, LOCK_HELD, LOCK_GIVEN_UP /* held, and waited for in vain */ };

#define LOCK_PAUSE_NS 20000u
#define LOCK_WAIT_NS 200000000u /* its holder may be off the processor: on a busy machine long */

/* False when it cannot be had within `wait_ns`. */
static inline bool bounded_lock_take_within(uint32_t *lock, uint64_t wait_ns)
{
	uint64_t end_ns = 0, rounds = 0;
	for (;;) {
		uint32_t state = LOCK_FREE;
		if (__atomic_compare_exchange_n(
			    lock, &state, LOCK_HELD, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return true;
		if (state == LOCK_GIVEN_UP)
			return false;
		uint64_t now_ns = clock_monotonic_ns();
		end_ns = end_ns ? end_ns : now_ns + wait_ns;
		if (now_ns >= end_ns || rounds++ >= wait_ns / LOCK_PAUSE_NS) {
			__atomic_compare_exchange_n(lock, &state, LOCK_GIVEN_UP, false,
				__ATOMIC_RELAXED, __ATOMIC_RELAXED);
			return false;
		}
		session_pause(LOCK_PAUSE_NS);
	}
}

static inline bool bounded_lock_take(uint32_t *lock)
{
	return bounded_lock_take_within(lock, LOCK_WAIT_NS);
}

static inline void bounded_lock_give(uint32_t *lock)
{
	__atomic_store_n(lock, LOCK_FREE, __ATOMIC_RELEASE);
}

#endif
