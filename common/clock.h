/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - the tick counter that events are stamped with.
 *
 * The invariant TSC where the kernel itself trusts it, else nanoseconds of CLOCK_MONOTONIC. Ticks
 * become nanoseconds outside the process, by clock points. Never by the clock_gettime() of libc:
 * the program, or a library preloaded with us (libfaketime), may have one of its own, which stands
 * still or runs elsewhere. The vdso's function is found by clock_init() and clock_set(); without
 * it, and before them, the kernel is asked. Any thread, async-signal-safe; no system call where the
 * vdso serves the clock.
 */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>

#include "common/spool.h"

/* True once clock_init() found the TSC usable; read-only afterwards. */
extern uint32_t clock_is_tsc __attribute__((visibility("hidden")));

/* Chooses the counter. Returns its kind. Before anything is stamped only. */
enum clock_kind clock_init(void);

/* The same where another process of this boot has decided it. */
void clock_set(enum clock_kind kind);

/* Reads counter and CLOCK_MONOTONIC together: the best of a few tries. */
void clock_point_take(struct clock_point *ret_point);

/* Nanoseconds of a clock of the system, CLOCK_MONOTONIC and others. */
uint64_t clock_system_ns(int clock_id);

uint64_t clock_monotonic_ns(void);

/* rdtsc without a fence: 8 ns; a call worth recording lasts longer than it can be reordered by. */
static inline uint64_t clock_ticks(void)
{
#if defined(__x86_64__)
	if (__builtin_expect(clock_is_tsc, 1)) {
		uint32_t low, high;
		__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
		return (uint64_t)high << 32 | low;
	}
#endif
	return clock_monotonic_ns();
}

#endif
