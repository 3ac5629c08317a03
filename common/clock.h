/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - the tick counter that events are stamped with.
 *
 * The counter is the invariant TSC if the kernel itself trusts it, else nanoseconds of
 * CLOCK_MONOTONIC. Ticks become nanoseconds outside the process, by clock points. libc's
 * clock_gettime() is never used: the program, or another preloaded library (libfaketime), may
 * replace it with a clock that does not advance or shows another time. The vdso's function is found
 * by clock_init() and clock_set(); without it, and before these calls, a system call is made. Any
 * thread, async-signal-safe; no system call if the vdso serves the clock.
 */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>

#include "common/spool.h"
#include "machine/machine.h"

/* 1 = the TSC is used. Set by clock_init() and clock_set(); read-only afterwards. */
extern uint32_t clock_is_tsc __attribute__((visibility("hidden")));

/* Choose the counter, before anything is stamped. Return its kind. */
enum clock_kind clock_init(void);

/* Use the counter that another process of this boot has chosen. */
void clock_set(enum clock_kind kind);

/* Take a clock point: read counter and CLOCK_MONOTONIC together, the best of a few tries. */
void clock_point_take(struct clock_point *ret_point);

/* Return the time of a system clock, such as CLOCK_MONOTONIC, in ns. */
uint64_t clock_system_ns(int clock_id);

/* Return the time of CLOCK_MONOTONIC in ns, by the vdso's function or a system call.
 * Async-signal-safe. */
uint64_t clock_monotonic_ns(void);

/* Return the tick counter: machine_counter(), or nanoseconds. */
static inline uint64_t clock_ticks(void)
{
	if (__builtin_expect(clock_is_tsc, 1))
		return machine_counter();
	return clock_monotonic_ns();
}

#endif
