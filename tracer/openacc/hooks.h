/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - the hooks of the source `openacc`, for producers.def.
 */
#ifndef TRACER_OPENACC_HOOKS_H
#define TRACER_OPENACC_HOOKS_H

#include "tracer/core/thread.h"

/* Forget the open constructs of the lane that a thread takes. */
void openacc_thread_start(const struct thread *t);

/* Forget, in a forked child, the constructs that its parent has open. */
void openacc_forked(void);

#endif
