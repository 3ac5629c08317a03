/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrap_threads.c - the start of threads: a trampoline passes the creator's tid to the new thread,
 * and records its start before its first call.
 *
 * The trampoline's argument is in a static pool, because an allocator may create threads while it
 * holds its own lock. When the pool is empty, or cannot be mapped, the thread starts without the
 * trampoline, and is noticed at its first call.
 */
#define _GNU_SOURCE
#include "inject/fn.h"

#include "common/sys.h"
#include "common/text.h"
#include "tracer/base/libc.h"
#include "tracer/session/thread_records.h"

#define STARTS_MAX 1024u

struct start {
	libtrace_start_fn function;
	thrd_start_t c11_function;
	void *argument;
	uint64_t created; /* tick */
	uint32_t parent_tid;
	uint32_t taken;
	uint32_t names_given;
	uint64_t stack_bytes;
	char name[16]; /* the creator's name, which a new thread inherits */
};

static struct start *starts; /* STARTS_MAX entries, from the first thread on */
static uint32_t start_hint;  /* the entry freed last: it is still in the cache */

static struct start *start_take(void)
{
	uint32_t hint = __atomic_load_n(&start_hint, __ATOMIC_RELAXED);
	if (!starts &&
		(session.restricted ||
			!sys_mmap_table((void **)(void *)&starts, STARTS_MAX * sizeof(*starts))))
		return NULL;
	for (uint32_t i = 0; i < STARTS_MAX; i++) {
		struct start *start = &starts[(hint + i) % STARTS_MAX];
		if (!__atomic_load_n(&start->taken, __ATOMIC_RELAXED) &&
			!__atomic_exchange_n(&start->taken, 1, __ATOMIC_ACQUIRE))
			return start;
	}
	return NULL;
}

static void start_give(struct start *start)
{
	__atomic_store_n(&start->taken, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&start_hint, (uint32_t)(start - starts), __ATOMIC_RELAXED);
}

/* Set up the state of the new thread, in that thread, and copy the function that it is to run. */
static struct start thread_begin(void *argument)
{
	struct start start = *(struct start *)argument;
	start_give(argument);
	thread_self.parent_tid = start.parent_tid;
	thread_self.created = start.created;
	thread_self.names_given = start.names_given;
	thread_stack_set(&thread_self, (uint64_t)(uintptr_t)__builtin_frame_address(0) + 512,
		start.stack_bytes);
	bytes_copy(thread_self.name, start.name, sizeof(start.name));
	if (gate_is_open())
		thread_attach(&thread_self);
	thread_self.created = 0; /* later it says nothing about the thread's start */
	return start;
}

static void *run_thread(void *argument)
{
	struct start start = thread_begin(argument);
	return start.function(start.argument);
}

static int run_c11_thread(void *argument)
{
	struct start start = thread_begin(argument);
	return start.c11_function(start.argument);
}

/* Return the least size of a new thread's stack: its own data and ours are above its first
 * frame. */
static uint64_t stack_bytes(const pthread_attr_t *attributes)
{
	size_t bytes = 0;
	if (!attributes || !libc.pthread_attr_getstacksize ||
		libc.pthread_attr_getstacksize(attributes, &bytes))
		bytes = thread_stack_usual;
	return bytes / 4 * 3;
}

/* Return the start data of a new thread of `creator`, all but its function; NULL without memory. */
static struct start *start_make(
	const struct thread *creator, void *argument, const pthread_attr_t *attributes)
{
	struct start *start = start_take();
	if (!start)
		return NULL;
	start->argument = argument;
	start->created = clock_ticks();
	start->parent_tid = creator->tid;
	start->names_given = __atomic_load_n(&thread_names_given, __ATOMIC_RELAXED);
	start->stack_bytes = stack_bytes(attributes);
	bytes_copy(start->name, creator->name, sizeof(start->name));
	return start;
}

WRAPPER(int, pthread_create,
	(pthread_t * t_thread, const pthread_attr_t *t_attributes, libtrace_start_fn t_function,
		void *t_argument))
{
	struct call call;
	if (!call_begin(&call, FN_pthread_create))
		return REAL(pthread_create)(t_thread, t_attributes, t_function, t_argument);
	struct start *start = start_make(call.t, t_argument, t_attributes);
	if (start)
		start->function = t_function;
	int result = REAL(pthread_create)(t_thread, t_attributes, start ? run_thread : t_function,
		start ? start : t_argument);
	if (start && result)
		start_give(start);
	osrt_end(&call, FN_pthread_create, FN_BITS(result),
		0 /* t_thread may be gone together with the thread */);
	return result;
}

WRAPPER(int, thrd_create, (thrd_t * t_thread, thrd_start_t t_function, void *t_argument))
{
	struct call call;
	if (!call_begin(&call, FN_thrd_create))
		return REAL(thrd_create)(t_thread, t_function, t_argument);
	struct start *start = start_make(call.t, t_argument, NULL);
	if (start)
		start->c11_function = t_function;
	int result = REAL(thrd_create)(
		t_thread, start ? run_c11_thread : t_function, start ? start : t_argument);
	if (start && result != thrd_success)
		start_give(start);
	osrt_end(&call, FN_thrd_create, FN_BITS(result), 0);
	return result;
}

/* Another thread's new name is read by that thread when it ends: its lane is not known here. */
WRAPPER(int, pthread_setname_np, (pthread_t t_thread, const char *t_name))
{
	int result = REAL(pthread_setname_np)(t_thread, t_name);
	if (gate_is_open() && (thread_self.lane || thread_attach(&thread_self)))
		osrt_count_now(FN_pthread_setname_np);
	if (result == 0 && !pthread_equal(t_thread, pthread_self()))
		__atomic_add_fetch(&thread_names_given, 1, __ATOMIC_RELAXED);
	else if (result == 0 && gate_is_open())
		thread_renamed(&thread_self, t_name);
	return result;
}
