/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - the hooks of the source `sched`, for producers.def.
 */
#ifndef TRACER_SCHED_HOOKS_H
#define TRACER_SCHED_HOOKS_H

#include "common/spool.h"
#include "tracer/core/thread.h"

/* Store in the header of a new spool whether threads' counters are read,
 * and whether context switches are recorded. */
void sched_describe(struct spool_header *spool);

/* Read how long the main thread waited for a CPU before the program began. Once, by one thread. */
void sched_start(void);

/* Record the counters of the calling thread at its start and at its end. Owning thread, with a
 * lane, thread.busy set. The end may take 30 us, but at most a thousandth of the thread's life. */
void sched_thread_started(struct thread *t);
void sched_thread_end(struct thread *t);

/* Forget, in a forked child, what its parent's threads count. */
void sched_forked(void);

/* Record the counters of the calling thread, and store those of all others in their lanes, before
 * exec or the end of the process. Raw system calls only; at most a thousandth of the process's
 * life. */
void sched_flush(void);

#endif
