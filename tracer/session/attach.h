/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach.h - attaching: the calling thread gets a lane, in a forked child a spool first.
 */
#ifndef TRACER_SESSION_ATTACH_H
#define TRACER_SESSION_ATTACH_H

#include <pthread.h>

#include "tracer/core/thread.h"

/* The key whose destructor ends the thread (thread_end.h), and whether a call may set it: it then
 * does not allocate. */
extern pthread_key_t thread_end_key __attribute__((visibility("hidden")));
extern bool thread_end_key_usable __attribute__((visibility("hidden")));

/*
 * Give the calling thread a lane and return it. Return NULL, and count the call as dropped, if no
 * lane is available or tracing is off. Create the spool first in a forked child. Owning thread;
 * async-signal-safe; no allocation.
 */
struct lane *thread_attach(struct thread *t);

/*
 * Enter as thread_enter() does, for code that needs a lane: attach the thread if it has none. A
 * handler that runs before the guard is taken may fork: then the child's thread has no lane again.
 * Return false, without entering, if there is no lane. Owning thread; async-signal-safe.
 */
bool thread_enter_attached(struct thread *t);

/* Record that the thread's name has changed. `name` may be longer than 15 bytes and is cut. Owning
 * thread. */
void thread_renamed(struct thread *t, const char *name);

/* Notify the sources of a call of `ticks` ticks from `tick` on, which has just been recorded with
 * its callchain. Owning thread, with a lane, thread.busy set; async-signal-safe. */
void thread_long_call(struct thread *t, uint64_t tick, uint64_t ticks);

#endif
