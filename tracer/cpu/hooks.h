/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - the hooks of the source `cpu`, for producers.def.
 */
#ifndef TRACER_CPU_HOOKS_H
#define TRACER_CPU_HOOKS_H

#include <stdbool.h>

#include "common/spool.h"
#include "tracer/core/thread.h"

/* Store in the header of a new spool whether samples are taken, and if not, why. */
void cpu_describe(struct spool_header *spool);

/* Install the handler if samples are requested and possible. Called once, before any event, by one
 * thread. */
void cpu_start(void);

/* Start the timer of a thread that has taken a lane, unless SIGURG is among the signals that it has
 * blocked. Owning thread, thread.busy set, signals blocked. */
void cpu_thread_start(struct thread *t, uint64_t blocked);

/* Sample the thread at the end of a call, if its timer is overdue. Owning thread, with a lane,
 * thread.busy set; async-signal-safe. */
void cpu_long_call(struct thread *t, uint64_t tick, uint64_t ticks);

/* Delete the timer of an ending thread. Owning thread, with a lane, thread.busy set. */
void cpu_thread_end(struct thread *t);

/* Forget, in a forked child, the timers of its parent, which it has not inherited. */
void cpu_forked(void);

/* Note the processor time of the process before exec or, `is_last`, at its end. Before exec,
 * unblock SIGURG if only a handler's mask contains it. May run in a signal handler; raw system
 * calls only. */
void cpu_flush(bool is_last);

#endif
