/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spare.h - the second lane of a thread that switches stacks within the tracer.
 *
 * Schedulers of user-level threads switch stacks in a signal handler. Tracer code that they
 * interrupt continues later, on its own stack; meanwhile the other stacks of the thread record in a
 * second lane. All functions: owning thread, async-signal-safe, no allocation from any heap.
 */
#ifndef TRACER_SESSION_SPARE_H
#define TRACER_SESSION_SPARE_H

#include <stdbool.h>

#include "tracer/core/thread.h"

/* Write a record to the second lane. Return false, with nothing written, if there is none or if it
 * is interrupted, too. */
bool spare_put(struct thread *t, const struct record *record);

/* Create the second lane before it is needed. */
void spare_prepare(struct thread *t);

/* Give the second lane back when the thread ends; a lane in which the tracer never continues
 * becomes free when the thread is dead. */
void spare_give(struct thread *t);

#endif
