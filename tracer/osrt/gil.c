/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gil.c - recognition of waits for the GIL of Python, and of the thread that held it.
 *
 * struct _gil_runtime_state is the same from CPython 3.7 to 3.14, except in free-threaded builds.
 * When a call on the condition variable returns, the waiting thread holds the mutex, so the lock's
 * members do not change while they are read. They are part of _PyRuntime, so they can be read. The
 * state of the thread that held the lock may be freed at any time; it is read by a system call that
 * cannot fault. That call adds little to a wait that has made several.
 */
#define _GNU_SOURCE
#include "tracer/osrt/gil.h"

#include <sys/syscall.h>

#include "common/spool.h"
#include "common/sys.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/gate.h"
#include "tracer/core/state.h"
#include "unwind/python.h"

/* Members of struct _gil_runtime_state, from the condition variable on. */
enum {
	BEGIN = -32,
	INTERVAL = -32,
	LAST_HOLDER = -24,
	LOCKED = -16,
	MUTEX_OWNER = 48 + 8,
	AFTER_MUTEX = 48 + 40
};

#define INTERVAL_MAX_US UINT64_C(1000000000)
#define INTERPRETERS_MAX 255u
#define TID_MAX (1u << 22) /* PID_MAX_LIMIT of the kernel */

/* A wait that continues after calls that timed out. */
struct open_wait {
	uint64_t tick, end_tick; /* start of the first call, end of the last; tick 0 = none */
	uint64_t calls;          /* counted() at the last call */
	uint64_t object;
	uint32_t tid, holder;
	uint32_t chain, method;
	uint32_t interpreter;
	bool is_over;
};
/* By lane; used by its thread. Mapped at the first wait that a thread makes for the lock. */
static struct open_wait *waits;

static uint32_t tid_offset; /* offset of the tid in struct pthread of glibc; 0 = unknown */

static void switch_off(const char *reason)
{
	python_gil.bytes = 0;
	python_gil.may_be_own = false;
	diagnostic_note_about("waits for Python's GIL are not recognized", reason);
}

/* Return true once python_gil is the range of the lock's condition variable alone. */
static bool is_checked(void)
{
	return __atomic_load_n(&python_gil.bytes, __ATOMIC_ACQUIRE) == 1;
}

static uint64_t word_at(uint64_t address)
{
	return __atomic_load_n((const uint64_t *)(uintptr_t)address, __ATOMIC_RELAXED);
}

static uint32_t half_at(uint64_t address)
{
	return __atomic_load_n((const uint32_t *)(uintptr_t)address, __ATOMIC_RELAXED);
}

/* Return the tid of the thread of a thread state, 0 = unknown. */
static uint32_t tid_of(const struct python_layout *l, uint64_t state)
{
	uint64_t word = 0;
	uint32_t tid = 0;
	bool native = l->tstate_native >= 0;
	int offset = native ? l->tstate_native : l->tstate_thread;
	if (!state || state & 7 || !sys_memory_read(state + (uint64_t)offset, &word, sizeof(word)))
		return 0;
	if (native)
		return word < TID_MAX ? (uint32_t)word : 0;
	if (!tid_offset || !sys_memory_read(word + tid_offset, &tid, sizeof(tid)))
		return 0;
	return tid < TID_MAX ? tid : 0;
}

/* Find the offset at which glibc stores the tid of a thread. */
static void tid_find(const struct python_layout *l, uint64_t state, uint32_t own)
{
	uint64_t thread;
	uint32_t tid;
	if (l->tstate_native >= 0 ||
		!sys_memory_read(state + (uint64_t)l->tstate_thread, &thread, sizeof(thread)))
		return;
	if (sys_memory_read(thread + MACHINE_TID_BYTES, &tid, sizeof(tid)) && tid == own)
		tid_offset = MACHINE_TID_BYTES;
}

/* Return true if the calling thread has just waited for the lock by this condition variable. */
static bool is_lock(uint64_t object, uint32_t tid)
{
	uint64_t interval = word_at(object + (uint64_t)INTERVAL),
		 holder = word_at(object + (uint64_t)LAST_HOLDER);
	return interval - 1 < INTERVAL_MAX_US && holder && !(holder & 7) &&
		half_at(object + (uint64_t)LOCKED) <= 1 && half_at(object + MUTEX_OWNER) == tid;
}

/* Check whether the first wait within _PyRuntime is a wait for the lock. If so, narrow python_gil
 * to it; if its memory contradicts the layout, switch off. */
static __attribute__((noinline, cold)) bool check(
	const struct python_layout *l, uint64_t state, uint64_t object, uint32_t tid)
{
	struct python_memory all = python_gil;
	if (!state)
		return false;
	if (object & 7 || object - all.begin < (uint64_t)-INTERVAL ||
		all.begin + all.bytes - object < AFTER_MUTEX || !is_lock(object, tid)) {
		switch_off("its memory does not match the layout of its version");
		return false;
	}
	tid_find(l, state, tid);
	uint32_t own = tid_of(l, state);
	if (own && own != tid) {
		switch_off("the state of a thread has the tid of another thread");
		return false;
	}
	if (!own)
		diagnostic_line(
			"waits for Python's GIL have no holder: thread states cannot be read");
	/* Store begin first: it must be valid when is_checked() returns true. */
	__atomic_store_n(&python_gil.begin, object, __ATOMIC_RELEASE);
	__atomic_store_n(&python_gil.bytes, 1, __ATOMIC_RELEASE);
	return true;
}

static bool has_memory(void)
{
	if (!waits)
		waits = sys_mmap_beyond_data(SPOOL_LANES_MAX * sizeof(*waits));
	if (!waits)
		switch_off("no memory");
	return waits != NULL;
}

/* Return true if the object is the condition variable of the lock that the interpreter of the
 * calling thread does not share. *ret_id: which interpreter, 255 at most. */
static bool is_own_lock(const struct python_layout *l, uint64_t state, uint64_t object,
	uint32_t tid, uint32_t *ret_id)
{
	uint64_t interpreter = 0, id = 0;
	if (!python_gil.may_be_own || !state ||
		!sys_memory_read(state + (uint64_t)l->tstate_interpreter, &interpreter, 8) ||
		object != interpreter + (uint64_t)(l->interpreter_gil - BEGIN) ||
		!sys_memory_read(interpreter + (uint64_t)l->interpreter_id, &id, 8))
		return false;
	*ret_id = id < INTERPRETERS_MAX ? (uint32_t)id : INTERPRETERS_MAX;
	return is_lock(object, tid);
}

/* Return true if a call was a wait for a lock: the main interpreter's, or the thread's own. */
static bool is_wait(const struct python_layout *l, uint64_t state, uint64_t object, uint32_t tid,
	uint32_t *ret_id)
{
	*ret_id = 0;
	if (object - python_gil.begin >= python_gil.bytes)
		return is_own_lock(l, state, object, tid, ret_id);
	if (!is_checked() && !check(l, state, object, tid))
		return false;
	if (is_lock(object, tid))
		return true;
	switch_off("the lock changed while a thread held its mutex");
	return false;
}

static struct record record_of(const struct open_wait *w)
{
	return (struct record){w->tick, REC_GIL_WAIT,
		(uint64_t)w->interpreter << 56 | (uint64_t)w->method << 48 |
			((w->end_tick - w->tick) & ((UINT64_C(1) << 48) - 1)),
		(uint64_t)w->holder << 32 | w->chain};
}

/* Return how many calls of the thread were too short for a record, and so were only counted. */
static uint64_t counted(const struct lane *lane)
{
	return lane->sums[FN_pthread_cond_timedwait].count +
		lane->sums[FN_pthread_cond_clockwait].count;
}

/* Close the previous wait if it ended unseen: its last call was too short to be recorded, or there
 * was no room for the record. Returns true if the wait is to be recorded. */
static bool close_before(
	struct open_wait *w, const struct lane *lane, uint64_t tick, uint64_t object)
{
	bool is_open = w->tick && !w->is_over && w->tid == lane->tid;
	if (!is_open)
		w->tick = 0;
	return is_open && (w->calls != counted(lane) || tick < w->end_tick || w->object != object);
}

unsigned gil_look(struct thread *t, const struct record *call, struct gil_call *ret_found)
{
	struct lane *lane = t->lane;
	uint64_t state = 0, object = call->b & ((UINT64_C(1) << 48) - 1);
	*ret_found = (struct gil_call){0};
	if (!lane || session.restricted || t->vfork_pid || gate_is_wiped())
		return 0;
	const struct python_layout *layout = python_layout_now(&state);
	uint32_t interpreter;
	if (!layout || !is_wait(layout, state, object, lane->tid, &interpreter) || !has_memory())
		return 0;
	struct open_wait *w = &waits[lane->index];
	ret_found->had_short = close_before(w, lane, call->tick, object);
	if (ret_found->had_short)
		ret_found->before = record_of(w);
	if (ret_found->had_short || !w->tick)
		*w = (struct open_wait){.tick = call->tick,
			.tid = lane->tid,
			.object = object,
			.interpreter = interpreter};
	w->end_tick = call->tick + (call->word >> RECORD_LENGTH_SHIFT);
	w->calls = counted(lane);
	w->holder = tid_of(layout, word_at(object + (uint64_t)LAST_HOLDER));
	w->is_over = !half_at(object + (uint64_t)LOCKED);
	ret_found->is_wait = true;
	ret_found->is_last = w->is_over;
	return (unsigned)ret_found->had_short + ret_found->is_last;
}

void gil_put(struct thread *t, struct record *call, bool has_chain, const struct gil_call *found)
{
	struct open_wait *w = &waits[t->lane->index];
	struct record *next = call + 1;
	if (!found->is_wait)
		return;
	if (has_chain && !w->chain) {
		w->chain = (uint32_t)call[-1].a;
		w->method = (uint32_t)call[-1].b;
	}
	if (found->had_short)
		*next++ = found->before;
	if (found->is_last) {
		*next = record_of(w);
		w->tick = 0;
	}
}
