/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - the hooks of the source `openmp`, for producers.def.
 */
#ifndef TRACER_OPENMP_HOOKS_H
#define TRACER_OPENMP_HOOKS_H

#include "tracer/core/thread.h"

/* Give the hooks of libgomp's functions to the source `functions`. Once, before any event, and
 * before functions_start(). */
void openmp_start(void);

/* Reset the stack of open regions of the lane that a thread takes. */
void openmp_thread_start(struct thread *t);

/* Record as abandoned the regions that an ending thread leaves open. Owning thread, with a lane,
 * thread.busy set. */
void openmp_thread_end(struct thread *t);

/* Forget, in a forked child, the open regions, which are in the parent's spool. */
void openmp_forked(void);

#endif
