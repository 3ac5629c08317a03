/* SPDX-License-Identifier: Apache-2.0 */
/*
 * constructs.h - when the open constructs of each lane's thread began.
 *
 * Owning thread of the lane, with thread.busy set; no system call but for constructs_start().
 */
#ifndef TRACER_OPENACC_CONSTRUCTS_H
#define TRACER_OPENACC_CONSTRUCTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/core/thread.h"

/* Map the table. Before the other functions. Return false without memory. */
bool constructs_start(void);

/* Note that a construct begins; tick 0 = it is not to be recorded. */
void construct_begin(const struct thread *t, uint64_t tick);

/* Return when the innermost construct, which ends, began; 0 = it is not to be recorded. */
uint64_t construct_end(const struct thread *t);

#endif
