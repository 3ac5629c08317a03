/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ompt_abi.h - the interface between a runtime of OpenMP and a tool, as far as it is used here:
 * OMPT of the OpenMP API 5.0 and 5.1 (Tool Interface).
 *
 * The runtime calls ompt_start_tool() when it is initialized. The result's `initialize` gets a
 * function that looks up the runtime's entry points by name; one of them, ompt_set_callback(),
 * registers callbacks, which run on the threads that they are about. Each thread, parallel region
 * and task has a word that belongs to the tool.
 */
#ifndef TRACER_OPENMP_OMPT_ABI_H
#define TRACER_OPENMP_OMPT_ABI_H

#include <stdint.h>

union ompt_data {
	uint64_t value;
	void *pointer;
};

typedef void (*ompt_function)(void);
typedef ompt_function (*ompt_lookup)(const char *name);
typedef int (*ompt_set_callback)(int event, ompt_function callback);

struct ompt_start_tool_result {
	int (*initialize)(ompt_lookup lookup, int device, union ompt_data *tool);
	void (*finalize)(union ompt_data *tool);
	union ompt_data tool;
};

enum ompt_event {
	OMPT_THREAD_BEGIN = 1,
	OMPT_THREAD_END = 2,
	OMPT_PARALLEL_BEGIN = 3,
	OMPT_PARALLEL_END = 4,
	OMPT_TASK_CREATE = 5,
	OMPT_TASK_SCHEDULE = 6,
	OMPT_IMPLICIT_TASK = 7,
	OMPT_SYNC_REGION_WAIT = 16,
	OMPT_MUTEX_RELEASED = 17,
	OMPT_WORK = 20,
	OMPT_MASKED = 21,
	OMPT_SYNC_REGION = 23,
	OMPT_LOCK_INIT = 24,
	OMPT_LOCK_DESTROY = 25,
	OMPT_MUTEX_ACQUIRE = 26,
	OMPT_MUTEX_ACQUIRED = 27,
	OMPT_FLUSH = 29,
	OMPT_CANCEL = 30,
	OMPT_REDUCTION = 31,
	OMPT_DISPATCH = 32
};

enum { OMPT_BEGIN = 1, OMPT_END = 2 }; /* endpoints of a region */

enum {
	OMPT_TASK_INITIAL = 1,
	OMPT_TASK_IMPLICIT = 2,
	OMPT_TASK_EXPLICIT = 4,
	OMPT_TASK_KINDS = 15
};

enum ompt_task_status {
	OMPT_TASK_COMPLETE = 1,
	OMPT_TASK_CANCELED = 3,
	OMPT_TASK_DETACHED = 4,
	OMPT_TASK_EARLY_FULFILL = 5,
	OMPT_TASK_LATE_FULFILL = 6,
	OMPT_TASK_SWITCH = 7,
	OMPT_TASKWAIT_COMPLETE = 8
};

enum { OMPT_MUTEX_CRITICAL = 5 }; /* this kind and greater ones are regions */

/* Kinds that OpenMP 5.0 does not have, and those of 5.0 that they refine. */
enum {
	OMPT_SYNC_BARRIER_IMPLICIT = 2,
	OMPT_SYNC_BARRIER_IMPLICIT_WORKSHARE = 8,
	OMPT_SYNC_BARRIER_TEAMS = 10,
	OMPT_WORK_LOOP = 1,
	OMPT_WORK_LOOP_STATIC = 10,
	OMPT_WORK_LOOP_OTHER = 13
};

#endif
