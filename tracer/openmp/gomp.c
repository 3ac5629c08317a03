/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gomp.c - OpenMP of GNU's libgomp, which has no interface for tools (OMPT): the calls of its entry
 * points, as gcc and gfortran make them, seen by hooks of the source `functions`.
 *
 * The function that a parallel region or task became is called through one of ours, so that each
 * implicit and explicit task has its begin and end on its own thread. The frame of the call of
 * GOMP_parallel() holds what ours needs: the region ends within that call. The data of a task get a
 * header, which libgomp copies along with them.
 *
 * Not seen, since gcc makes no call: loops with a static schedule, most atomic operations, master
 * regions, the end of a single region, and the wait of a worker between two regions.
 */
#define _GNU_SOURCE
#include <string.h>

#include "common/schema/libraries.h"
#include "common/text.h"
#include "tracer/base/libc.h"
#include "tracer/core/call_hooks.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/state.h"
#include "tracer/openmp/entry.h"
#include "tracer/openmp/hooks.h"

#define INITIAL 1u /* number of the initial tasks and their regions, of all threads */

enum gomp_hook {
	NOTHING,
	PARALLEL,
	PARALLEL_LOOP,
	PARALLEL_SECTIONS,
	TASK,
	TASKLOOP,
	WAIT,
	WORK,
	LOOP,
	LOOP_ULL,
	SECTIONS,
	WORK_END,
	WORK_END_WAIT,
	SINGLE,
	SINGLE_COPY,
	ENTER,
	ENTER_NAMED,
	LEAVE,
	CANCEL,
	LOCK_INIT,
	LOCK_DESTROY,
	LOCK_SET,
	LOCK_TEST,
	LOCK_UNSET
};

static const struct {
	const char *functions;
	enum gomp_hook hook;
	uint32_t kind;
} rows[] = {
#define GOMP(functions, hook, kind) {functions, hook, kind},
#include "tracer/openmp/gomp.def"
};

typedef void outlined(void *data);
typedef void copy_function(void *to, void *from);

/* Functions of one libgomp: a process may have several. */
struct runtime {
	uint64_t real; /* a function of it that was called */
	int (*thread_number)(void);
	int (*team_size)(void);
	int (*cancellation)(void); /* NULL, as above: it has none */
};

/* ---- runtimes ---- */

#define RUNTIMES_MAX 32u

static struct runtime runtimes[RUNTIMES_MAX];
static uint32_t runtime_count; /* also of those for which there was no room */

/* Look up the functions of the library that has the function `real`, which stays loaded. */
static void runtime_find(struct runtime *r, uint64_t real)
{
	const char *file = NULL;
	void *library = NULL;
	if (libc_library_of(real, "omp_get_thread_num", &library, &file)) {
		libc_function_find(library, "omp_get_thread_num", &r->thread_number);
		libc_function_find(library, "omp_get_num_threads", &r->team_size);
		libc_function_find(library, "omp_get_cancellation", &r->cancellation);
	}
	if (!r->thread_number)
		r->team_size = NULL;
	__atomic_store_n(&r->real, real, __ATOMIC_RELEASE);
}

/* Any thread, several at a time: functions are looked up without the loader's lock. Not called at
 * the first call: a worker may make it while the thread that waits for the worker holds the
 * loader's lock, in a constructor of a library that it loads. */
static void found(uint32_t number, uint64_t real)
{
	enum gomp_hook hook = rows[number - 1].hook;
	if ((hook != PARALLEL && hook != PARALLEL_LOOP && hook != PARALLEL_SECTIONS &&
		    hook != TASK) ||
		__atomic_load_n(&runtime_count, __ATOMIC_RELAXED) >= RUNTIMES_MAX)
		return;
	uint32_t i = __atomic_fetch_add(&runtime_count, 1, __ATOMIC_RELAXED);
	if (i < RUNTIMES_MAX)
		runtime_find(&runtimes[i], real);
}

static const struct runtime *runtime_of(uint64_t real)
{
	static const struct runtime none;
	for (uint32_t i = 0; i < RUNTIMES_MAX; i++) {
		uint64_t known = __atomic_load_n(&runtimes[i].real, __ATOMIC_ACQUIRE);
		if (known == real) /* 0 = free, or another thread looks its functions up */
			return &runtimes[i];
	}
	return &none;
}

static void limits_tell(void)
{
	static uint32_t told;
	if (!__atomic_load_n(&told, __ATOMIC_RELAXED) &&
		!__atomic_exchange_n(&told, 1, __ATOMIC_RELAXED))
		diagnostic_line(
			"OpenMP of GNU's libgomp, which has no interface for tools (OMPT), is "
			"recorded by its entry points: loops with a static schedule, atomic "
			"operations and master regions are not seen");
}

/* ---- parallel regions ---- */

/* In the scratch words of the call; copied by each thread before it can end. */
struct region {
	outlined *function;
	void *data;
	uint64_t parallel;
	const struct runtime *runtime;
	uint64_t work, count, code;
	uint64_t caller; /* a struct thread; 0 = the call was left alone */
};
_Static_assert(sizeof(struct region) <= CALL_SCRATCH_WORDS * 8, "it is in the scratch words");

static void implicit_begin(const struct region *r, uint64_t task)
{
	struct thread *t = event_enter();
	struct omp_region_data d = {.region = OMP_TASK,
		.kind = OMPT_TASK_IMPLICIT,
		.parallel = r->parallel,
		.task = task,
		.code = (const void *)(uintptr_t)r->code};
	uint32_t number = 0, size = 0;
	if (!t)
		return;
	if (r->runtime->team_size) {
		number = (uint32_t)r->runtime->thread_number();
		size = (uint32_t)r->runtime->team_size();
	}
	omp_begin_task(t, &d, number, size);
	d.region = OMP_WORKSHARE;
	d.kind = (uint32_t)r->work;
	d.object = r->count;
	if (r->work && gate_is_open())
		omp_begin(t, &d);
	thread_leave(t);
}

/* End the task of a worker. That of the thread that called GOMP_parallel() ends with this call,
 * after the barrier at the end of the region. */
static void implicit_end(const struct region *r, uint64_t task, bool is_caller)
{
	struct thread *t = event_enter();
	struct omp_region_data d = {.region = is_caller ? OMP_SYNC_REGION : OMP_TASK,
		.kind = is_caller ? OMPT_SYNC_BARRIER_IMPLICIT : 0,
		.task = task,
		.code = (const void *)(uintptr_t)r->code};
	if (!t)
		return;
	if (is_caller)
		omp_begin(t, &d);
	else
		omp_end(t, &d);
	thread_leave(t);
}

/* Run a thread's part of a parallel region. */
static void region_run(void *argument)
{
	const struct region r = *(const struct region *)argument;
	const struct thread *caller = (const struct thread *)(uintptr_t)r.caller;
	uint64_t task = omp_number(&omp_tasks);
	implicit_begin(&r, task);
	r.function(r.data);
	implicit_end(&r, task, caller == &thread_self);
}

/* Return the number of iterations, from `first` on. */
static uint64_t iterations(uint64_t first, uint64_t end, uint64_t step)
{
	bool is_down = (int64_t)step < 0;
	uint64_t length = is_down ? first - end : end - first, by = is_down ? -step : step;
	return by && (int64_t)length > 0 ? (length + by - 1) / by : 0;
}

static void initial_reserve(void)
{
	uint64_t none = 0;
	__atomic_compare_exchange_n(
		&omp_tasks, &none, INITIAL, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	none = 0;
	__atomic_compare_exchange_n(
		&omp_parallels, &none, INITIAL, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void parallel_before(enum gomp_hook hook, uint32_t kind, struct hooked_call *call)
{
	struct region *r = (struct region *)(void *)call->scratch;
	const struct runtime *runtime = runtime_of(call->real);
	struct thread *t = event_enter();
	if (!t)
		return;
	limits_tell();
	initial_reserve();
	*r = (struct region){.function = (outlined *)(uintptr_t)call->words[0],
		.data = (void *)(uintptr_t)call->words[1],
		.parallel = omp_number(&omp_parallels),
		.runtime = runtime,
		.work = kind,
		.code = call->code,
		.caller = (uint64_t)(uintptr_t)&thread_self};
	if (hook == PARALLEL_LOOP)
		r->count = iterations(call->words[3], call->words[4], call->words[5]);
	else if (hook == PARALLEL_SECTIONS)
		r->count = (uint32_t)call->words[3];
	uint64_t task = omp_task_now(t).task;
	omp_begin(t,
		&(struct omp_region_data){.region = OMP_PARALLEL,
			.parallel = r->parallel,
			.task = task ? task : INITIAL,
			.object = (uint32_t)call->words[2],
			.code = (const void *)(uintptr_t)call->code});
	thread_leave(t);
	call->words[0] = (uint64_t)(uintptr_t)region_run;
	call->words[1] = (uint64_t)(uintptr_t)r;
}

static void parallel_after(const struct hooked_call *call)
{
	const struct region *r = (const struct region *)(const void *)call->scratch;
	struct thread *t = r->caller ? event_enter() : NULL;
	struct omp_region_data d = {.parallel = r->parallel};
	if (!t)
		return;
	static const uint32_t ends[] = {OMP_SYNC_REGION, OMP_TASK, OMP_PARALLEL};
	for (uint32_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		d.region = ends[i];
		omp_end(t, &d);
	}
	thread_leave(t);
}

/* ---- tasks ---- */

#define TASK_DETACHED (1u << 13) /* libgomp stores an event in the first word of the data */
#define TASK_ALIGNMENT 16u

/* In the scratch words of the call, and in front of the copy of the task's data. */
struct task {
	outlined *function;
	copy_function *copy;
	void *data;
	uint64_t number, parallel, offset, bytes;
};
_Static_assert(sizeof(struct task) <= CALL_SCRATCH_WORDS * 8, "it is in the scratch words");

/* Copy the header and the data of a task. */
static void task_copy(void *to, void *from)
{
	const struct task *task = from;
	char *data = (char *)to + task->offset;
	*(struct task *)to = *task;
	if (task->copy)
		task->copy(data, task->data);
	else if (task->bytes)
		memcpy(data, task->data, task->bytes);
}

static void task_switch(const struct omp_region_data *from, enum ompt_task_status status,
	const struct omp_region_data *to)
{
	struct thread *t = event_enter();
	if (!t)
		return;
	if (gate_is_open())
		omp_event(t,
			&(struct omp_region_data){.region = OMP_TASK_SCHEDULE,
				.kind = status,
				.task = from->task,
				.object = to->task});
	omp_switch(t, from->task, status == OMPT_TASK_COMPLETE, to);
	thread_leave(t);
}

/* Run an explicit task. */
static void task_run(void *argument)
{
	const struct task *task = argument;
	struct omp_region_data prior = {0};
	struct omp_region_data own = {.region = OMP_TASK,
		.kind = OMPT_TASK_EXPLICIT,
		.parallel = task->parallel,
		.task = task->number};
	struct thread *t = event_enter();
	if (t) {
		prior = omp_task_now(t);
		thread_leave(t);
	}
	outlined *function = task->function;
	void *data = (char *)argument + task->offset;
	task_switch(&prior, OMPT_TASK_SWITCH, &own);
	function(data);
	task_switch(&own, OMPT_TASK_COMPLETE, &prior);
}

/* GOMP_task(function, data, copy, bytes, alignment, if_clause, flags ...) */
static void task_before(struct hooked_call *call)
{
	struct task *task = (struct task *)(void *)call->scratch;
	uint64_t alignment = call->words[4] > TASK_ALIGNMENT ? call->words[4] : TASK_ALIGNMENT;
	/* libgomp does not discard a cancelled task whose data a function copies. */
	int (*cancellation)(void) = runtime_of(call->real)->cancellation;
	bool is_left_alone = (cancellation && cancellation()) || call->count <= 6 ||
		*call_argument(call, 6) & TASK_DETACHED;
	struct thread *t = event_enter();
	if (!t)
		return;
	limits_tell();
	initial_reserve();
	struct omp_region_data now = omp_task_now(t);
	*task = (struct task){.function = (outlined *)(uintptr_t)call->words[0],
		.copy = (copy_function *)(uintptr_t)call->words[2],
		.data = (void *)(uintptr_t)call->words[1],
		.number = omp_number(&omp_tasks),
		.parallel = now.parallel ? now.parallel : INITIAL,
		.offset = (sizeof(*task) + alignment - 1) & ~(alignment - 1),
		.bytes = call->words[3]};
	if (gate_is_open())
		omp_event(t,
			&(struct omp_region_data){.region = OMP_TASK_CREATE,
				.kind = OMPT_TASK_EXPLICIT,
				.task = now.task ? now.task : INITIAL,
				.object = task->number,
				.code = (const void *)(uintptr_t)call->code});
	thread_leave(t);
	if (is_left_alone)
		return;
	call->words[0] = (uint64_t)(uintptr_t)task_run;
	call->words[1] = (uint64_t)(uintptr_t)task;
	call->words[2] = (uint64_t)(uintptr_t)task_copy;
	call->words[3] += task->offset;
	call->words[4] = alignment;
}

/* ---- work, waits, mutexes ---- */

/* Begin or end a region, or record an event (`endpoint` 0), of the call. */
static void put(const struct hooked_call *call, int endpoint, uint32_t region, uint32_t kind,
	uint64_t object)
{
	struct omp_region_data d = {.region = region,
		.kind = kind,
		.object = object,
		.code = (const void *)(uintptr_t)call->code};
	if (endpoint)
		omp_region(endpoint, d);
	else
		omp_event_put(d);
}

static void lock_before(enum gomp_hook hook, uint32_t kind, const struct hooked_call *call)
{
	uint64_t lock = call->words[0];
	switch (hook) {
	case LOCK_INIT:
		put(call, 0, OMP_LOCK_INIT, kind, lock);
		break;
	case LOCK_DESTROY:
		put(call, 0, OMP_LOCK_DESTROY, kind, lock);
		break;
	case LOCK_UNSET:
		put(call, 0, OMP_MUTEX_RELEASED, kind, lock);
		break;
	default: /* LOCK_SET, LOCK_TEST, ENTER_NAMED; those without a name have one lock each */
		lock = hook == ENTER ? call->real : lock;
		call->scratch[0] = lock;
		put(call, OMPT_BEGIN, OMP_MUTEX_WAIT, kind, lock);
		break;
	}
}

static void work_before(enum gomp_hook hook, uint32_t kind, const struct hooked_call *call)
{
	const uint64_t *w = call->words;
	uint64_t count = 0;
	if (hook == LOOP)
		count = iterations(w[0], w[1], w[2]);
	else if (hook == LOOP_ULL)
		count = iterations(w[1], w[2], w[3]);
	else if (hook == SECTIONS)
		count = (uint32_t)w[0];
	else if (hook == TASKLOOP && call->count > 6)
		count = *call_argument(call, 6);
	put(call, OMPT_BEGIN, OMP_WORKSHARE, kind, count);
}

static void before(uint32_t number, struct hooked_call *call)
{
	enum gomp_hook hook = rows[number - 1].hook;
	uint32_t kind = rows[number - 1].kind;
	switch (hook) {
	case PARALLEL:
	case PARALLEL_LOOP:
	case PARALLEL_SECTIONS:
		parallel_before(hook, kind, call);
		break;
	case TASK:
		task_before(call);
		break;
	case WAIT:
		put(call, OMPT_BEGIN, OMP_SYNC_REGION, kind, 0);
		break;
	case WORK_END:
	case WORK_END_WAIT:
		put(call, OMPT_END, OMP_WORKSHARE, 0, 0);
		if (hook == WORK_END_WAIT)
			put(call, OMPT_BEGIN, OMP_SYNC_REGION, kind, 0);
		break;
	case LEAVE:
		put(call, OMPT_END, OMP_CRITICAL_SECTION, 0, 0);
		break;
	case CANCEL:
		if ((uint8_t)call->words[1])
			put(call, 0, OMP_CANCEL, 0, (uint32_t)call->words[0]);
		break;
	case NOTHING:
	case SINGLE:
	case SINGLE_COPY:
		break;
	case WORK:
	case LOOP:
	case LOOP_ULL:
	case SECTIONS:
	case TASKLOOP:
		work_before(hook, kind, call);
		break;
	default:
		lock_before(hook, kind, call);
		break;
	}
}

static void after(uint32_t number, struct hooked_call *call)
{
	enum gomp_hook hook = rows[number - 1].hook;
	uint32_t kind = rows[number - 1].kind;
	bool is_true = hook == SINGLE_COPY ? !call->words[0] : (uint8_t)call->words[0];
	switch (hook) {
	case PARALLEL:
	case PARALLEL_LOOP:
	case PARALLEL_SECTIONS:
		parallel_after(call);
		break;
	case WAIT:
	case WORK_END_WAIT:
		put(call, OMPT_END, OMP_SYNC_REGION, 0, 0);
		break;
	case TASKLOOP:
		put(call, OMPT_END, OMP_WORKSHARE, 0, 0);
		break;
	case SINGLE:
	case SINGLE_COPY:
		put(call, 0, OMP_WORKSHARE, is_true ? kind : kind + 1, 1);
		break;
	case LOCK_TEST:
		is_true = (uint32_t)call->words[0] != 0;
		/* fallthrough */
	case LOCK_SET:
		if (hook == LOCK_SET || is_true)
			put(call, OMPT_END, OMP_MUTEX_WAIT, 0, 0);
		break;
	case ENTER:
	case ENTER_NAMED:
		put(call, OMPT_END, OMP_MUTEX_WAIT, 0, 0);
		put(call, OMPT_BEGIN, OMP_CRITICAL_SECTION, kind, call->scratch[0]);
		break;
	default:
		break;
	}
}

static uint32_t hook_find(const char *name)
{
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (text_matches(name, rows[i].functions,
			    rows[i].functions + text_length(rows[i].functions)))
			return rows[i].hook == NOTHING ? 0 : i + 1;
	return 0;
}

void openmp_start(void)
{
	static const struct call_hooks hooks = {.row = LIBRARY_ROWS,
		.files = "libgomp*.so*",
		.functions = {"GOMP_*", "omp_*lock*"},
		.find = hook_find,
		.found = found,
		.before = before,
		.after = after,
		.is_plain = true};
	if (session.config.openmp)
		call_hooks[CALL_HOOKS_OPENMP] = &hooks;
}
