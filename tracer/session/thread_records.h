/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_records.h - records of a thread about itself: its start and its name.
 *
 * All functions: owning thread, with a lane and thread.busy set; async-signal-safe.
 */
#ifndef TRACER_SESSION_THREAD_RECORDS_H
#define TRACER_SESSION_THREAD_RECORDS_H

#include <stdint.h>

#include "tracer/core/thread.h"

/* Counts names that threads gave to others: only then is a thread's name read again at its end. */
extern uint32_t thread_names_given __attribute__((visibility("hidden")));

/* Record in the thread's lane that `tid` of process `pid` begins, or continues. `flags` are as in
 * struct thread_start. */
void thread_put_start(struct thread *t, uint32_t pid, uint32_t tid, uint32_t flags);

/* Record the thread's name; more than 15 bytes are cut. */
void thread_put_name(struct thread *t, const char *name);

#endif
