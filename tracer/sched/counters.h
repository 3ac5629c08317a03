/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters.h - instructions and cycles of threads in user mode, by the processor's counters
 * (LIBTRACE_CPU_COUNTERS).
 */
#ifndef TRACER_SCHED_COUNTERS_H
#define TRACER_SCHED_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

struct counters {
	uint64_t cycles, instructions;
};

/* Start to count for a thread of this process, from 0; it has the lane of this number. Return 0 or
 * a negative errno: ENOENT, the processor has no counters; EPERM or EACCES, the system does not
 * permit perf_event_open(), or the user may not lock another page of memory; EOPNOTSUPP, the
 * counters cannot be read without a system call. The thread itself, async-signal-safe; about 60 us.
 */
int counters_open(uint32_t lane, uint32_t tid);

/* Read the counters of the lane's thread. Return false if they are not known: the thread has none,
 * or did not have them all the time, or it runs now and is not the calling one (`is_own`). Any
 * thread, async-signal-safe, no system call. */
bool counters_read(uint32_t lane, bool is_own, struct counters *ret);

/* Stop counting for the lane's thread, and give its memory back. The thread itself. */
void counters_close(uint32_t lane);

/* Forget, in a forked child, the counters of its parent, which it has not inherited. */
void counters_forked(void);

#endif
