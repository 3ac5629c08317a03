/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - the hooks of the source `osrt`, for producers.def.
 */
#ifndef TRACER_OSRT_HOOKS_H
#define TRACER_OSRT_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/core/state.h"
#include "tracer/core/thread.h"

/* True if no OS runtime call is wanted: wrappers only call the real function. */
extern bool osrt_off __attribute__((visibility("hidden")));

/* Set the thresholds from the session's options and the measured tick rate. Once, before any
 * event. */
void osrt_start(void);

/* Set the thresholds again in a forked child, where the kernel has cleared them (gate.h). */
void osrt_forked(void);

/* Record, with `flag`, the open calls whose frames are below `sp` (0 = all): they were left without
 * returning. Owning thread; not yet busy. */
void osrt_abandon_open(struct thread *t, uint64_t sp, enum record_flag flag);

/* Reset the lane that a thread takes: no call is open in it. */
static inline void osrt_thread_start(struct thread *t)
{
	t->lane->open.sp = 0;
	t->lane->open_depth = 0;
}

/* Store in the spool whether calls are recorded. */
static inline void osrt_describe(struct spool_header *spool)
{
	spool->osrt_off = !session.config.osrt;
}

#endif
