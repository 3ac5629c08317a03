/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callbacks.c - what a runtime of OpenMP calls: numbers for threads, regions and tasks, and their
 * events.
 *
 * The word of a thread or parallel region is its number; that of a task is its number << 8 | its
 * kind. Numbers are also given while the gate is closed, and regions of threads, teams and tasks
 * are followed then, since events of an open gate refer to them.
 */
#include <stddef.h>

#include "tracer/openmp/entry.h"
#include "tracer/openmp/ompt_abi.h"

#define TASK_SHIFT 8

uint64_t omp_parallels, omp_tasks; /* shared by all runtimes */
static uint64_t threads;

static inline uint64_t number_of(const union ompt_data *data)
{
	return data ? data->value : 0;
}

static inline uint64_t task_of(const union ompt_data *data)
{
	return data ? data->value >> TASK_SHIFT : 0;
}

static void task_number(union ompt_data *data, uint32_t kind)
{
	data->value = omp_number(&omp_tasks) << TASK_SHIFT | kind;
}

/* ---- threads, teams, tasks ---- */

static void thread_begin(int type, union ompt_data *thread)
{
	struct thread *t = event_enter();
	thread->value = omp_number(&threads);
	if (!t)
		return;
	omp_begin(t,
		&(struct omp_region_data){
			.region = OMP_THREAD, .kind = (uint32_t)type, .object = thread->value});
	thread_leave(t);
}

static void thread_end(union ompt_data *thread)
{
	struct thread *t = event_enter();
	if (!t)
		return;
	omp_end(t, &(struct omp_region_data){.region = OMP_THREAD, .object = number_of(thread)});
	thread_leave(t);
}

static void parallel_begin(union ompt_data *task, const void *frame, union ompt_data *parallel,
	uint32_t threads_wanted, int flags, const void *code)
{
	struct thread *t = event_enter();
	(void)frame, (void)flags;
	parallel->value = omp_number(&omp_parallels);
	if (!t)
		return;
	omp_begin(t,
		&(struct omp_region_data){.region = OMP_PARALLEL,
			.parallel = parallel->value,
			.task = task_of(task),
			.object = threads_wanted,
			.code = code});
	thread_leave(t);
}

static void parallel_end(
	union ompt_data *parallel, union ompt_data *task, int flags, const void *code)
{
	struct thread *t = event_enter();
	(void)task, (void)flags, (void)code;
	if (!t)
		return;
	omp_end(t,
		&(struct omp_region_data){.region = OMP_PARALLEL, .parallel = number_of(parallel)});
	thread_leave(t);
}

static void implicit_task(int endpoint, union ompt_data *parallel, union ompt_data *task,
	uint32_t team_size, uint32_t number, int flags)
{
	struct thread *t = event_enter();
	uint32_t kind =
		(uint32_t)flags & OMPT_TASK_INITIAL ? OMPT_TASK_INITIAL : OMPT_TASK_IMPLICIT;
	if (endpoint == OMPT_BEGIN) {
		if (kind == OMPT_TASK_INITIAL && parallel && !parallel->value)
			parallel->value = omp_number(&omp_parallels);
		task_number(task, kind);
		number = kind == OMPT_TASK_INITIAL ? 0 : number;
	}
	if (!t)
		return;
	struct omp_region_data d = {.region = OMP_TASK, .kind = kind, .task = task_of(task)};
	if (endpoint == OMPT_BEGIN) {
		d.parallel = number_of(parallel);
		omp_begin_task(t, &d, number, team_size);
	} else if (d.task) {
		omp_end(t, &d);
	}
	thread_leave(t);
}

static void task_create(union ompt_data *task, const void *frame, union ompt_data *new_task,
	int flags, int has_dependences, const void *code)
{
	(void)frame, (void)has_dependences;
	task_number(new_task, (uint32_t)flags & OMPT_TASK_KINDS);
	if (flags & OMPT_TASK_INITIAL)
		return;
	omp_event_put((struct omp_region_data){.region = OMP_TASK_CREATE,
		.kind = (uint32_t)flags & OMPT_TASK_KINDS,
		.task = task_of(task),
		.object = task_of(new_task),
		.code = code});
}

static void task_schedule(union ompt_data *prior, int status, union ompt_data *next)
{
	struct thread *t = event_enter();
	bool is_over = status == OMPT_TASK_COMPLETE || status == OMPT_TASK_CANCELED ||
		status == OMPT_TASK_DETACHED;
	if (!t)
		return;
	if (gate_is_open())
		omp_event(t,
			&(struct omp_region_data){.region = OMP_TASK_SCHEDULE,
				.kind = (uint32_t)status,
				.task = task_of(prior),
				.object = task_of(next)});
	if (status != OMPT_TASK_EARLY_FULFILL && status != OMPT_TASK_LATE_FULFILL &&
		status != OMPT_TASKWAIT_COMPLETE)
		omp_switch(t, task_of(prior), is_over,
			&(struct omp_region_data){.region = OMP_TASK,
				.kind = (uint32_t)number_of(next) & OMPT_TASK_KINDS,
				.task = task_of(next)});
	thread_leave(t);
}

static void cancel(union ompt_data *task, int flags, const void *code)
{
	omp_event_put((struct omp_region_data){.region = OMP_CANCEL,
		.task = task_of(task),
		.object = (uint32_t)flags,
		.code = code});
}

/* ---- work and waits ---- */

static void work(int type, int endpoint, union ompt_data *parallel, union ompt_data *task,
	uint64_t count, const void *code)
{
	bool is_loop = type >= OMPT_WORK_LOOP_STATIC && type <= OMPT_WORK_LOOP_OTHER;
	omp_region(endpoint,
		(struct omp_region_data){.region = OMP_WORKSHARE,
			.kind = is_loop ? OMPT_WORK_LOOP : (uint32_t)type,
			.parallel = number_of(parallel),
			.task = task_of(task),
			.object = count,
			.code = code});
}

static void wait(uint32_t what, int kind, int endpoint, const union ompt_data *parallel,
	const union ompt_data *task, const void *code)
{
	if (kind >= OMPT_SYNC_BARRIER_IMPLICIT_WORKSHARE && kind <= OMPT_SYNC_BARRIER_TEAMS)
		kind = OMPT_SYNC_BARRIER_IMPLICIT;
	omp_region(endpoint,
		(struct omp_region_data){.region = what,
			.kind = (uint32_t)kind,
			.parallel = number_of(parallel),
			.task = task_of(task),
			.code = code});
}

#define WAIT(name, what)                                                                           \
	static void name(int kind, int endpoint, union ompt_data *parallel, union ompt_data *task, \
		const void *code)                                                                  \
	{                                                                                          \
		wait(what, kind, endpoint, parallel, task, code);                                  \
	}
WAIT(sync_region, OMP_SYNC_REGION)
WAIT(sync_region_wait, OMP_SYNC_REGION_WAIT)
WAIT(reduction, OMP_REDUCTION)

static void masked(int endpoint, union ompt_data *parallel, union ompt_data *task, const void *code)
{
	omp_region(endpoint,
		(struct omp_region_data){.region = OMP_MASTER,
			.parallel = number_of(parallel),
			.task = task_of(task),
			.code = code});
}

static void dispatch(
	union ompt_data *parallel, union ompt_data *task, int kind, union ompt_data instance)
{
	omp_event_put((struct omp_region_data){.region = OMP_DISPATCH,
		.kind = (uint32_t)kind,
		.parallel = number_of(parallel),
		.task = task_of(task),
		.object = instance.value});
}

static void flush(union ompt_data *thread, const void *code)
{
	omp_event_put((struct omp_region_data){
		.region = OMP_FLUSH, .object = number_of(thread), .code = code});
}

/* ---- mutexes ---- */

static void mutex_acquire(
	int kind, uint32_t hint, uint32_t implementation, uint64_t mutex, const void *code)
{
	(void)hint, (void)implementation;
	omp_region(OMPT_BEGIN,
		(struct omp_region_data){.region = OMP_MUTEX_WAIT,
			.kind = (uint32_t)kind,
			.object = mutex,
			.code = code});
}

static void mutex_acquired(int kind, uint64_t mutex, const void *code)
{
	struct thread *t = event_enter();
	if (!t)
		return;
	omp_end(t, &(struct omp_region_data){.region = OMP_MUTEX_WAIT, .object = mutex});
	if (kind >= OMPT_MUTEX_CRITICAL && gate_is_open())
		omp_begin(t,
			&(struct omp_region_data){.region = OMP_CRITICAL_SECTION,
				.kind = (uint32_t)kind,
				.object = mutex,
				.code = code});
	thread_leave(t);
}

static void mutex_event(uint32_t what, int kind, uint64_t mutex, const void *code)
{
	omp_event_put((struct omp_region_data){
		.region = what, .kind = (uint32_t)kind, .object = mutex, .code = code});
}

static void mutex_released(int kind, uint64_t mutex, const void *code)
{
	struct thread *t;
	if (kind < OMPT_MUTEX_CRITICAL) {
		mutex_event(OMP_MUTEX_RELEASED, kind, mutex, code);
		return;
	}
	t = event_enter();
	if (!t)
		return;
	omp_end(t, &(struct omp_region_data){.region = OMP_CRITICAL_SECTION, .object = mutex});
	thread_leave(t);
}

static void lock_init(
	int kind, uint32_t hint, uint32_t implementation, uint64_t mutex, const void *code)
{
	(void)hint, (void)implementation;
	mutex_event(OMP_LOCK_INIT, kind, mutex, code);
}

static void lock_destroy(int kind, uint64_t mutex, const void *code)
{
	mutex_event(OMP_LOCK_DESTROY, kind, mutex, code);
}

/* ---- registration ---- */

int omp_initialize(ompt_lookup lookup, int device, union ompt_data *tool)
{
#define CALLBACK(event, function)                                   \
	{                                                           \
		event, (ompt_function)(uintptr_t)(void *)(function) \
	}
	const struct {
		int event;
		ompt_function function;
	} wanted[] = {CALLBACK(OMPT_THREAD_BEGIN, thread_begin),
		CALLBACK(OMPT_THREAD_END, thread_end),
		CALLBACK(OMPT_PARALLEL_BEGIN, parallel_begin),
		CALLBACK(OMPT_PARALLEL_END, parallel_end),
		CALLBACK(OMPT_IMPLICIT_TASK, implicit_task),
		CALLBACK(OMPT_TASK_CREATE, task_create),
		CALLBACK(OMPT_TASK_SCHEDULE, task_schedule), CALLBACK(OMPT_CANCEL, cancel),
		CALLBACK(OMPT_WORK, work), CALLBACK(OMPT_SYNC_REGION, sync_region),
		CALLBACK(OMPT_SYNC_REGION_WAIT, sync_region_wait),
		CALLBACK(OMPT_REDUCTION, reduction), CALLBACK(OMPT_MASKED, masked),
		CALLBACK(OMPT_DISPATCH, dispatch), CALLBACK(OMPT_FLUSH, flush),
		CALLBACK(OMPT_MUTEX_ACQUIRE, mutex_acquire),
		CALLBACK(OMPT_MUTEX_ACQUIRED, mutex_acquired),
		CALLBACK(OMPT_MUTEX_RELEASED, mutex_released), CALLBACK(OMPT_LOCK_INIT, lock_init),
		CALLBACK(OMPT_LOCK_DESTROY, lock_destroy)};
	(void)device, (void)tool;
	ompt_set_callback set = (ompt_set_callback)(uintptr_t)lookup("ompt_set_callback");
	if (!set)
		return 0;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		set(wanted[i].event, wanted[i].function);
	return 1;
}
