/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - the hooks of the sources `vulkan` and `opengl`, for producers.def.
 */
#ifndef TRACER_GRAPHICS_HOOKS_H
#define TRACER_GRAPHICS_HOOKS_H

#include "tracer/core/thread.h"

/* Allocate the tables, and give the hooks to the source `functions`. Once, before any event, and
 * before functions_start(). */
void vulkan_start(void);
void opengl_start(void);

/* Forget the open labels of the lane that a thread takes. */
void graphics_thread_start(const struct thread *t);

/* Forget, in a forked child, the labels that its parent has open. */
void graphics_forked(void);

/* Forget, in a forked child, its parent's devices of Vulkan. */
void workloads_forked(void);

#endif
