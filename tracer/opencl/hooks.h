/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - the hooks of the source `opencl`, for producers.def.
 */
#ifndef TRACER_OPENCL_HOOKS_H
#define TRACER_OPENCL_HOOKS_H

/* Allocate the tables, and give the hooks to the source `functions`. Once, before any event, and
 * before functions_start(). */
void opencl_start(void);

/* Forget, in a forked child, the commands of its parent. */
void opencl_forked(void);

#endif
