/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - the hooks of the source `functions`, for producers.def.
 */
#ifndef TRACER_FUNCTIONS_HOOKS_H
#define TRACER_FUNCTIONS_HOOKS_H

#include <stdint.h>

#include "tracer/core/state.h"
#include "tracer/core/thread.h"

/* Give hooks to the LOOKUP rows of libraries.def. Once, before functions_start(). */
void function_lookups_start(void);

/* Read the patterns, and allocate the tables. Once, before any event. */
void functions_start(void);

/* Patch the modules that are loaded, if no module has called __gmon_start__() in time. */
void functions_ready(void);

/* Reset the stack of open calls of the lane that a thread takes. */
void functions_thread_start(struct thread *t);

/* Record, with `flag`, the open calls whose frames are below `sp` (0 = all): they were left without
 * returning. Owning thread; not yet busy. */
void functions_calls_left(struct thread *t, uint64_t sp, enum record_flag flag);

/* Forget, in a forked child, the open calls, which are in the parent's spool. */
void functions_forked(void);

/* Store in the spool what was patched. */
void functions_describe(struct spool_header *spool);

#endif
