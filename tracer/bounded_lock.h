/*
 * bounded_lock.h - a lock for rare, short work, waited for no longer than some 20 ms.
 *
 * Whoever held it may never give it back: a thread that was cancelled, left by siglongjmp from a
 * handler, or missing in a forked child. Then the work is left out, and the program goes on. A word
 * of 0 is free. Any thread, with thread.busy set, so no handler of the holder's thread wants it.
 */
#ifndef TRACER_BOUNDED_LOCK_H
#define TRACER_BOUNDED_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/session.h"

#define LOCK_TRIES 1000u
#define LOCK_PAUSE_NS 20000u

/* False when it cannot be had. */
static inline bool bounded_lock_take(uint32_t *lock)
{
	for (unsigned i = 0; i < LOCK_TRIES; i++) {
		uint32_t open = 0;
		if (__atomic_compare_exchange_n(
			    lock, &open, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return true;
		session_pause(LOCK_PAUSE_NS);
	}
	return false;
}

static inline void bounded_lock_give(uint32_t *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

#endif
