/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.c - the state of the calling thread: guard, stack, second task, set aside in a fork.
 *
 * A leaf: it knows neither how a thread gets a lane (attach.c) nor who records in it.
 */
#define _GNU_SOURCE
#include "tracer/core/thread.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "common/clock.h"
#include "common/sys.h"
#include "machine/machine.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/gate.h"
#include "tracer/core/state.h"

/* The value of `fast` when there is no lane. A call on no stack seems to be open in it, so one
 * comparison sends wrappers to the slow path, also at the end of a call, after a fork for
 * example. */
static const uint64_t no_lane[8] = {[offsetof(struct lane, open.sp) / 8] = 1};
#define NO_LANE ((struct lane *)(uintptr_t)no_lane)

__thread struct thread thread_self __attribute__((tls_model("initial-exec"),
	visibility("hidden"))) = {.fast = (struct lane *)(uintptr_t)no_lane};

uint64_t thread_stack_usual = 2u << 20; /* the minimum, used if there is no limit */

/* As in glibc's pthread_create.c. */
void thread_stack_usual_find(void)
{
	struct rlimit limit = {0};
	if (SYS4(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &limit) == 0 &&
		limit.rlim_cur < thread_stack_usual)
		thread_stack_usual = limit.rlim_cur;
}

static struct lane *fast_of(const struct thread *t)
{
	return t->lane && clock_is_tsc && !t->shared && machine_has_short_path() ? t->lane
										 : NO_LANE;
}

void thread_use_lane(struct thread *t, struct lane *lane)
{
	t->lane = lane;
	t->fast = fast_of(t);
}

void thread_forget(struct thread *t)
{
	struct thread old = *t;
	if (old.spare)
		old.spare->lane = NULL; /* a frame that a handler interrupted may return to it */
	*t = (struct thread){.parent_tid = old.tid,
		.created = old.created,
		.fast = NO_LANE,
		.stack_low = old.stack_low,
		.stack_high = old.stack_high};
}

bool thread_is_inside(const struct thread *t)
{
	return t->busy || (t->spare && t->spare->busy);
}

void thread_left(struct thread *t)
{
	t->busy = t->nested = 0;
	t->spare = NULL;
}

void thread_orphan(struct thread *t)
{
	if (!t->lane)
		t->lane = t->set_aside;
	t->set_aside = NULL;
	t->fork_state = FORK_NONE;
	t->fast = NO_LANE;
	t->orphan = 1;
}

void thread_stack_set(struct thread *t, uint64_t high, uint64_t bytes)
{
	t->stack_high = high;
	t->stack_low = high > bytes ? high - bytes : 0;
}

/* ---- two tasks on one thread's memory ---- */

#define SHARED_CALLS 64u /* calls between two checks whether the second task still exists */

void thread_share(struct thread *t, uint32_t stray)
{
	if (!t->shared)
		diagnostic_line("two tasks share the memory of a thread (clone() with CLONE_VM, "
				"without CLONE_SETTLS); calls of the second one are not recorded");
	t->stray = stray;
	t->fast = NO_LANE;
	t->shared = t->tid ? t->tid : (uint32_t)sys_gettid();
}

void thread_share_end(struct thread *t)
{
	t->shared = t->stray = t->shared_calls = 0;
	t->fast = fast_of(t);
}

bool thread_task_is_gone(uint32_t task)
{
	if (!task || session.restricted)
		return false;
	long result = sys_compare_memory(sys_getpid(), (int)task);
	if (result == -ENOSYS || result == -EPERM)
		result = SYS2(SYS_kill, task, 0);
	return result != 0 && result != -EPERM;
}

bool thread_is_stray(struct thread *t)
{
	if (!t->shared || t->vfork_pid || session.restricted)
		return false;
	if ((uint32_t)sys_gettid() != t->shared) {
		session_count_drop(DROP_SHARED);
		return true;
	}
	if (t->shared_calls++ % SHARED_CALLS == 0 && thread_task_is_gone(t->stray))
		thread_share_end(t);
	return false;
}

void thread_look_for_stray(struct thread *t)
{
	if (t->shared || t->vfork_pid || !t->tid || session.restricted)
		return;
	uint32_t tid = (uint32_t)sys_gettid();
	if (tid == t->tid)
		return;
	thread_share(t, tid);
	session_count_drop(DROP_SHARED); /* at least one: both wrote to the lane */
}

bool thread_is_task_of_ours(void)
{
	int pid = session.restricted ? 0 : sys_getpid();
	return pid && (uint32_t)pid != session.pid &&
		sys_compare_memory(pid, (int)session.pid) == 0;
}

bool thread_is_dead(uint32_t tid)
{
	return !session.restricted && SYS3(SYS_tgkill, session.pid, tid, 0) == -ESRCH;
}

struct thread *thread_in_fork;

void thread_forking(struct thread *t, enum fork_state state)
{
	__atomic_store_n(&thread_in_fork, t, __ATOMIC_RELAXED);
	t->fork_state = state;
	t->set_aside = t->lane;
	t->fast = NO_LANE;
	t->lane = NULL;
}

void thread_forked(struct thread *t)
{
	t->fork_state = FORK_NONE;
	__atomic_store_n(&thread_in_fork, NULL, __ATOMIC_RELAXED);
	if (!t->set_aside)
		return;
	thread_use_lane(t, t->set_aside);
	t->set_aside = NULL;
}

bool thread_is_muted(struct thread *t)
{
	uint32_t muted = __atomic_load_n(&t->muted, __ATOMIC_RELAXED), tid;
	if (!muted || session.restricted || (tid = (uint32_t)sys_gettid()) == muted)
		return muted;
	session_count_drop(DROP_SHARED);
	if (!t->shared && tid != t->tid)
		thread_share(t, tid);
	return true;
}

struct lane *thread_mute(struct thread *t)
{
	thread_look_for_stray(t);
	struct lane *lane = t->lane;
	t->muted = (uint32_t)sys_gettid();
	t->fast = NO_LANE;
	t->lane = NULL;
	THREAD_BARRIER();
	return lane;
}

void thread_unmute(struct thread *t, struct lane *lane)
{
	THREAD_BARRIER();
	thread_use_lane(t, lane);
	t->muted = 0;
}

/* ---- the guard ---- */

bool thread_on_signal_stack(void)
{
	stack_t stack;
	if (session.restricted)
		return true; /* the kernel cannot be asked: assume interrupted, not left */
	return SYS2(SYS_sigaltstack, 0, &stack) == 0 && (stack.ss_flags & SS_ONSTACK);
}

/* Return true unless this is another task on the thread's memory. In a forked child that has not
 * forgotten its parent the thread still has its parent's tid. */
static bool is_own(const struct thread *t)
{
	uint32_t tid = session.restricted || !t->tid ? t->tid : (uint32_t)sys_gettid();
	return tid == t->tid || tid == t->vfork_pid || tid == own_words.pid;
}

/* A signal frame is larger than this; the frames of wrappers of one caller differ by less. */
#define HANDLER_DISTANCE 512u

void thread_mend_guard(struct thread *t)
{
	uint64_t sp = (uint64_t)(uintptr_t)MACHINE_FRAME();
	uint64_t at = thread_busy_at(t);
	if (!t->busy || sp + HANDLER_DISTANCE <= at || !thread_same_stack(t, sp, at) ||
		!is_own(t) || thread_on_signal_stack())
		return;
	t->nested = 0;
	t->busy = 0;
	t->chunk = t->limit = 0; /* published records stay: continue after them */
	if (!t->lane)
		return;
	t->lane->dropped[DROP_NESTED]++; /* the record in progress may be lost */
	t->published = t->lane->head;
}
