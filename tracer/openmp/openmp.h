/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openmp.h - OpenMP: regions, tasks and waits, as a runtime reports them by OMPT, or as the calls
 * of GNU's libgomp, which has no OMPT, show them.
 *
 * A region is a record, written at its end. Until then it is an entry of the thread's stack of open
 * regions, in the spool, where the writer finds it if the process is killed. The regions of a task
 * end in parts: when a thread leaves a task for another one, the task and its work and waits are
 * recorded up to then, and begin again when the thread returns; so no time is counted twice.
 *
 * All functions: the thread that the event is about; no allocation, lock or system call, but for a
 * thread's first event and the end of a chunk.
 */
#ifndef TRACER_OPENMP_OPENMP_H
#define TRACER_OPENMP_OPENMP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"
#include "tracer/core/thread.h"
#include "tracer/openmp/ompt_abi.h"

#define OPENMP_REGION(number, id, title) OMP_##id = number,
enum omp_region {
#include "common/schema/openmp.def"
};

/* What is known about a region or event. */
struct omp_region_data {
	uint32_t region; /* enum omp_region */
	uint32_t kind;
	uint64_t parallel; /* 0 = that of the current task */
	uint64_t task;     /* 0 = the current task */
	uint64_t object;
	const void *code;
};

/* Record an event without a duration. With a lane, thread.busy set, also those below. */
void omp_event(struct thread *t, const struct omp_region_data *d);

/* Begin a region. It is not recorded if the gate is closed now. */
void omp_begin(struct thread *t, const struct omp_region_data *d);

/* Begin an implicit or initial task, of thread `number` of a team. */
void omp_begin_task(
	struct thread *t, const struct omp_region_data *d, uint32_t number, uint32_t team_size);

/* End the innermost region that agrees in region and, unless 0, parallel, task and object. Parallel
 * regions and tasks end with all regions within them. Ends without a begin are ignored. */
void omp_end(struct thread *t, const struct omp_region_data *d);

/* Leave task `prior` for the task `next` (of number 0: the one that is innermost then). */
void omp_switch(struct thread *t, uint64_t prior, bool is_over, const struct omp_region_data *next);

/* Return the task that the thread is in, with the number of its region: 0 = none is known. */
struct omp_region_data omp_task_now(const struct thread *t);

/* Register the callbacks with a runtime: the `initialize` of a tool. Return 1, or 0 if it has no
 * such function. */
int omp_initialize(ompt_lookup lookup, int device, union ompt_data *tool);

#endif
