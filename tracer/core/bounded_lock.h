/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bounded_lock.h - a lock for rare, short work: a thread waits for it at most LOCK_WAIT_NS, and
 * after one wait in vain no other thread waits.
 *
 * Its holder may never release it: a thread that was cancelled, left by siglongjmp from a handler,
 * or missing in a forked child. The work is left out then, and the program continues. A word of 0
 * is free. Any thread, with thread.busy set, so that no handler of the holder's thread takes it.
 */
#ifndef TRACER_CORE_BOUNDED_LOCK_H
#define TRACER_CORE_BOUNDED_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "tracer/core/state.h"

enum bounded_lock {
	LOCK_FREE = 0,
	LOCK_HELD,
	LOCK_GIVEN_UP /* held, and a thread has waited in vain */
};

#define LOCK_PAUSE_NS 20000u
#define LOCK_WAIT_NS 200000000u /* the holder may be preempted, on a busy machine for long */

/* Take the lock if it is free now. A failure gives nothing up: others wait for it as before. */
static inline bool bounded_lock_try(uint32_t *lock)
{
	uint32_t state = LOCK_FREE;
	return __atomic_compare_exchange_n(
		lock, &state, LOCK_HELD, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Return false if the lock is not free within `wait_ns`. */
static inline bool bounded_lock_take_within(uint32_t *lock, uint64_t wait_ns)
{
	uint64_t end_ns = 0, rounds = 0;
	for (;;) {
		if (bounded_lock_try(lock))
			return true;
		uint32_t state = __atomic_load_n(lock, __ATOMIC_RELAXED);
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

/* Take the lock. Return false if it is not free within LOCK_WAIT_NS. */
static inline bool bounded_lock_take(uint32_t *lock)
{
	return bounded_lock_take_within(lock, LOCK_WAIT_NS);
}

/* Release the lock. */
static inline void bounded_lock_give(uint32_t *lock)
{
	__atomic_store_n(lock, LOCK_FREE, __ATOMIC_RELEASE);
}

#endif
