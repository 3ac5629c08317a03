/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - the hooks of the source `nvtx`, for producers.def.
 */
#ifndef TRACER_NVTX_HOOKS_H
#define TRACER_NVTX_HOOKS_H

#include <stddef.h>

#include "tracer/core/thread.h"

/* Read the options of domains and capture ranges. Called once, when the process joins its tree,
 * before any event. */
void nvtx_select_start(void);

/* Reset the open ranges of a thread that has taken a lane. */
static inline void nvtx_thread_start(struct thread *t)
{
	t->ranges = NULL;
}

/* Close the ranges that an ending thread leaves open. Owning thread, thread.busy set. */
void nvtx_detach(struct thread *t);

/* Forget, in a forked child, the ranges that its parent had open. */
void nvtx_forked(void);

#endif
