/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.h - leases of the spool's lanes.
 *
 * A lane is created at its first lease and never returned to the spool: when its thread ends, the
 * next thread without a lane gets it. All functions: any thread, with thread.busy set and a spool;
 * async-signal-safe; no allocation.
 */
#ifndef TRACER_CORE_LEASE_H
#define TRACER_CORE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/core/thread.h"

/* Counts the leases that have ended: a thread that got no lane tries again when it changes. */
extern uint32_t lease_given_back __attribute__((visibility("hidden")));

/* Lease a lane for the thread: a free lane, that of a dead thread (its sums are recorded first), or
 * a new one. The caller makes it the thread's (thread_use_lane()). Return NULL if the spool has no
 * room. */
struct lane *lease_take(struct thread *t);

/* Return true if a thread other than `t` has a lane. Any thread; no system call. */
bool lease_has_others(const struct thread *t);

/* Return a lane that belongs to no thread, for activity of a device. Return NULL without room. */
struct lane *lease_for_device(void);

/* End the lease: the next thread may have the lane. */
void lease_give(struct lane *lane);

#endif
