/* SPDX-License-Identifier: Apache-2.0 */
/*
 * producers.h - calls of the hooks of all sources (producers.def), in the order of the rows.
 *
 * The hook `ready` is expanded in inject/preload.c alone, since it may load libraries.
 */
#ifndef TRACER_PRODUCERS_H
#define TRACER_PRODUCERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"
#include "tracer/core/state.h"
#include "tracer/core/thread.h"

#define PRODUCER_HOOKS
#include "tracer/producers.def"

/* Describe in the header of this process's new spool what is recorded. */
static inline void producers_describe(struct spool_header *spool)
{
#define PRODUCER(name, is_default, describe, ...) describe;
#include "tracer/producers.def"
}

/* Start the sources in a process that was executed: before any event, with a spool, by one
 * thread. */
static inline void producers_start(void)
{
#define PRODUCER(name, is_default, describe, start, ...) start;
#include "tracer/producers.def"
}

/* Prepare the calling thread's new lane, t->lane, before its first record. thread.busy set, signals
 * blocked; `blocked` are those that the program has blocked. Also for a thread's second lane
 * (spare.h). */
static inline void producers_thread_start(struct thread *t, uint64_t blocked)
{
	(void)blocked;
#define PRODUCER(name, is_default, describe, start, ready, thread_start, ...) thread_start;
#include "tracer/producers.def"
}

/* Record what is known of the calling thread at its start, after its first record. With a lane,
 * thread.busy set. */
static inline void producers_thread_started(struct thread *t)
{
#define PRODUCER(name, is_default, describe, start, ready, thread_start, thread_started, ...) \
	thread_started;
#include "tracer/producers.def"
}

/* Notify the sources of a call of `ticks` ticks from `tick` on, which has just been recorded with
 * its callchain. Owning thread, with a lane, thread.busy set; async-signal-safe. */
static inline void producers_long_call(struct thread *t, uint64_t tick, uint64_t ticks)
{
#define PRODUCER(                                                                               \
	name, is_default, describe, start, ready, thread_start, thread_started, long_call, ...) \
	long_call;
#include "tracer/producers.def"
}

/* Record, with `flag`, the calls whose frames are below `sp` (0 = all): they were left without
 * returning. Owning thread, with a lane; not yet busy. */
static inline void producers_calls_left(struct thread *t, uint64_t sp, enum record_flag flag)
{
#define PRODUCER(name, is_default, describe, start, ready, thread_start, thread_started, \
	long_call, calls_left, ...)                                                      \
	calls_left;
#include "tracer/producers.def"
}

/* Record what the calling thread leaves open at its end. With a lane, thread.busy set. */
static inline void producers_thread_end(struct thread *t)
{
#define PRODUCER(name, is_default, describe, start, ready, thread_start, thread_started, \
	long_call, calls_left, thread_end, ...)                                          \
	thread_end;
#include "tracer/producers.def"
}

/* Reset the sources in a forked child that has its spool, at its first event: nothing of the
 * parent's spool remains, and no lock is held. thread.busy set; async-signal-safe. */
static inline void producers_forked(void)
{
#define PRODUCER(name, is_default, describe, start, ready, thread_start, thread_started, \
	long_call, calls_left, thread_end, forked, ...)                                  \
	forked;
#include "tracer/producers.def"
}

/* Fetch the events that other libraries (CUPTI) still hold, before exec replaces the process or,
 * `is_last`, before it ends. Not busy; perhaps in a signal handler. */
static inline void producers_flush(bool is_last)
{
#define PRODUCER(name, is_default, describe, start, ready, thread_start, thread_started, \
	long_call, calls_left, thread_end, forked, flush)                                \
	flush;
#include "tracer/producers.def"
}

#endif
