/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gil.h - waits for the global interpreter lock of Python, among the calls of OS runtime functions.
 *
 * CPython 3.7 and later wait for the lock by timed waits on a condition variable within _PyRuntime,
 * 5 ms at most each; from 3.12 on, a sub-interpreter may have a lock of its own in its own memory.
 * Such a call is recorded as any other; when it was the last one of a wait, the whole wait is
 * recorded after it.
 */
#ifndef TRACER_OSRT_GIL_H
#define TRACER_OSRT_GIL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/schema/fn_ids.h"
#include "tracer/core/python.h"
#include "tracer/core/thread.h"

/* Return true if a call of `fn` may be a wait for the lock. Costs nothing where `fn` is a constant,
 * unless it is one of these two functions. */
static inline __attribute__((always_inline)) bool gil_may_be(unsigned fn, uint64_t object)
{
	return (fn == FN_pthread_cond_timedwait || fn == FN_pthread_cond_clockwait) &&
		(object - python_gil.begin < python_gil.bytes || python_gil.may_be_own);
}

/* What a call means for the waits of its thread. */
struct gil_call {
	bool is_wait;   /* it was a wait for the lock */
	bool is_last;   /* the wait is over */
	bool had_short; /* a wait before ended with a call that was not recorded: `before` */
	struct record before;
};

/*
 * Look at a call that gil_may_be(), and that has returned just now: the thread still holds the
 * mutex of the lock. Returns the number of records that gil_put() puts after that of the call: the
 * waits that are over. The first call checks that this is the lock, and else switches the
 * recognition off, which a diagnostic says. With thread.busy set.
 */
unsigned gil_look(struct thread *t, const struct record *call, struct gil_call *ret_found);

/* Store the records of waits after `call`, which is in the lane, and not yet published. If the call
 * `has_chain`, that is in the record before the call. With thread.busy set. */
void gil_put(struct thread *t, struct record *call, bool has_chain, const struct gil_call *found);

#endif
