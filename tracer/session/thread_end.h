/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_end.h - the end of a thread, or of a vfork child that runs on it: open calls and ranges
 * are closed.
 */
#ifndef TRACER_SESSION_THREAD_END_H
#define TRACER_SESSION_THREAD_END_H

#include <stdint.h>

#include "tracer/core/thread.h"

/* Create the key whose destructor ends threads, and read the usual stack size. Once, before any
 * thread attaches. */
void thread_end_start(void);

/* End the thread's records: sums, end record, lane free for the next thread. Owning thread; nothing
 * happens without a lane. */
void thread_detach(struct thread *t);

/*
 * Begin and end the time in which a vfork child runs on this thread: its records carry its own pid.
 * Frames below `sp` were the child's. Owning thread, with a lane.
 */
void thread_vfork_child(struct thread *t);
void thread_vfork_parent(struct thread *t, uint64_t sp);

#endif
