/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tracer/libc.h"
#include "tracer/thread.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/lane.h"
#include "tracer/nvtx.h"
#include "tracer/osrt.h"
#include "tracer/session.h"
#include "tracer/spool_file.h"

/* Stands in `fast` for no lane: as if a call were open, so that one comparison sends wrappers the
 * long way. A call that ends there, since a fork or whatever has come in between, clears the lower
 * half. */
static uint64_t no_lane[8] = {[offsetof(struct lane, open.kind) / 8] = UINT64_C(1) << 32};
#define NO_LANE ((struct lane *)(void *)no_lane)

__thread struct thread thread_self __attribute__((
	tls_model("initial-exec"), visibility("hidden"))) = {.fast = (struct lane *)&no_lane};

uint32_t thread_names_given;
uint64_t thread_stack_usual = 2u << 20; /* at least, where there is no limit */

static pthread_key_t end_key;
static bool end_key_usable;
static uint32_t lanes_given_back;

/* A thread for which there was no lane looks again when one was given back, or now and then. */
#define MISSED_CALLS 1024u

/* glibc keeps the values of the first keys inside the thread; later ones are allocated when first
 * set, which a hook must never do. */
#define KEYS_WITHOUT_ALLOCATION 32

/* Runs with the destructors of other keys, which may call traced functions: put off to the last
 * round. */
static void end_hook(void *value)
{
	struct thread *t = &thread_self;
	(void)value;
	if (++t->end_rounds < PTHREAD_DESTRUCTOR_ITERATIONS &&
		libc.pthread_setspecific(end_key, t) == 0)
		return;
	t->gone = 1; /* nothing will detach the lane of a handler that runs from here on */
	thread_detach(t);
}

/* As glibc does it. */
static void stack_usual_find(void)
{
	struct rlimit limit = {0};
	if (SYS4(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &limit) == 0 &&
		limit.rlim_cur < thread_stack_usual)
		thread_stack_usual = limit.rlim_cur;
}

void thread_init(void)
{
	stack_usual_find();
	end_key_usable = libc.pthread_key_create(&end_key, end_hook) == 0 &&
		end_key < KEYS_WITHOUT_ALLOCATION;
}

void thread_forget(struct thread *t)
{
	struct thread old = *t;
	*t = (struct thread){.parent_tid = old.tid,
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

#define SHARED_CALLS 64u /* between two looks whether the other one is still there */
#define KCMP_OF_MEMORY 1 /* KCMP_VM */

void thread_share(struct thread *t, uint32_t stray)
{
	if (!t->shared)
		session_note("two tasks share a thread's memory (clone() with CLONE_VM, without "
			     "CLONE_SETTLS): calls of the second are not recorded");
	t->stray = stray;
	t->fast = NO_LANE;
	t->shared = t->tid ? t->tid : (uint32_t)sys_gettid();
}

void thread_share_end(struct thread *t)
{
	t->shared = t->stray = t->shared_calls = 0;
	t->fast = t->lane && clock_is_tsc ? t->lane : NO_LANE;
}

/* A task that has ended, or called exec, has other memory or none. */
static bool stray_is_gone(const struct thread *t)
{
	if (!t->stray || session.restricted)
		return false;
	long result = SYS5(SYS_kcmp, session.pid, t->stray, KCMP_OF_MEMORY, 0, 0);
	if (result == -ENOSYS || result == -EPERM)
		result = SYS2(SYS_kill, t->stray, 0);
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
	if (t->shared_calls++ % SHARED_CALLS == 0 && stray_is_gone(t))
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
	session_count_drop(DROP_SHARED); /* at least: both have written to the lane */
}

bool thread_is_dead(uint32_t tid)
{
	return !session.restricted && SYS3(SYS_tgkill, session.pid, tid, 0) == -ESRCH;
}

/* A lane in that state which no thread uses, or NULL. */
static struct lane *lane_lease(uint32_t state)
{
	struct spool_header *spool = session.spool;
	uint32_t count = __atomic_load_n(&spool->lane_count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t offset = __atomic_load_n(&spool->lane_offset[i], __ATOMIC_ACQUIRE);
		if (!offset)
			continue; /* its maker is between counting and storing */
		struct lane *lane = spool_file_at(offset);
		uint32_t now = state;
		if (__atomic_load_n(&lane->state, __ATOMIC_ACQUIRE) == state &&
			(state == LANE_FREE || thread_is_dead(lane->tid)) &&
			__atomic_compare_exchange_n(&lane->state, &now, LANE_LEASED, false,
				__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return lane;
	}
	return NULL;
}

static struct lane *lane_make(enum lane_state state)
{
	struct spool_header *spool = session.spool;
	if (__atomic_load_n(&spool->lane_count, __ATOMIC_RELAXED) >= SPOOL_LANES_MAX)
		return NULL;
	void *place;
	uint64_t offset = spool_file_take(LANE_BYTES, LANE_BYTES, &place);
	if (!offset)
		return NULL;
	struct lane *lane = place;
	lane->state = state;
	uint32_t index = __atomic_fetch_add(&spool->lane_count, 1, __ATOMIC_ACQ_REL);
	if (index >= SPOOL_LANES_MAX) {
		__atomic_store_n(&spool->lane_count, SPOOL_LANES_MAX, __ATOMIC_RELEASE);
		return NULL;
	}
	lane->index = index;
	__atomic_store_n(&spool->lane_offset[index], offset, __ATOMIC_RELEASE);
	return lane;
}

/* 20 and the nice value of this thread. The system call gives 20 less that. */
static uint32_t priority_now(void)
{
	long result = SYS2(SYS_getpriority, PRIO_PROCESS, 0);
	return result > 0 && result <= 40 ? (uint32_t)(40 - result) : 0;
}

struct lane *thread_lane_for_device(void)
{
	struct lane *lane = lane_make(LANE_DEVICE);
	if (lane)
		lane->pid = session.pid;
	return lane;
}

static void put_start(struct thread *t, uint32_t pid, uint32_t tid, uint32_t flags)
{
	struct thread_start start = {
		.parent_tid = t->parent_tid, .parent_pid = session.pid, .flags = flags};
	if (!session.restricted && !(flags & THREAD_RESUMED))
		start.priority = priority_now();
	if (!t->name[0]) { /* else its maker's, handed over */
		t->names_given = __atomic_load_n(&thread_names_given, __ATOMIC_RELAXED);
		SYS2(SYS_prctl, PR_GET_NAME, t->name);
	}
	bytes_copy(start.name, t->name, sizeof(t->name));
	lane_put(t, clock_ticks(), REC_THREAD_START, tid, pid, &start, sizeof(start));
}

static uint32_t start_flags(const struct thread *t)
{
	uint32_t flags = 0;
	if (t->tid == session.pid)
		flags |= session.spool->forked ? THREAD_FORKED : THREAD_MAIN;
	else if (!t->parent_tid)
		flags |= THREAD_FOUND;
	return flags;
}

/* What the handlers of a dead thread have left in its lane. */
static void lane_clear(struct thread *t, struct lane *lane)
{
	t->lane = lane;
	lane_flush_sums(t);
	t->lane = NULL;
	t->chunk = t->limit = 0;
}

static struct lane *lane_find(struct thread *t)
{
	struct lane *lane = lane_lease(LANE_FREE);
	if (!lane) {
		lane = lane_lease(LANE_PARTING);
		if (lane)
			lane_clear(t, lane);
	}
	return lane ? lane : lane_make(LANE_LEASED);
}

static struct lane *attach(struct thread *t)
{
	if (__atomic_load_n(&session.state, __ATOMIC_ACQUIRE) == SESSION_FORKED &&
		!session_child_start())
		return NULL;
	if (__atomic_load_n(&session.state, __ATOMIC_ACQUIRE) != SESSION_ON)
		return NULL;
	/* Its maker not seen: a thread of a forked child whose first thread has not come by yet, or
	 * a process that shares our memory: neither may have a lane of this spool. */
	if (!t->parent_tid && !session_is_ours()) {
		session_count_drop(DROP_NO_LANE);
		return NULL;
	}
	struct lane *lane = session.restricted ? NULL : lane_find(t);
	t->missed_lane = !lane;
	if (!lane) {
		session_count_drop(DROP_NO_LANE);
		return NULL;
	}
	t->tid = (uint32_t)sys_gettid();
	lane->tid = t->tid;
	lane->pid = session.pid;
	lane->open.kind = 0;
	lane->open_depth = 0;
	lane->cuda_open.tick = 0;
	t->cuda_level = 0;
	t->chunk = t->limit = 0;
	t->chains_begun = 0;
	t->ranges = NULL;
	t->lane = lane;
	t->fast = clock_is_tsc && !t->shared ? lane : NO_LANE;
	put_start(t, session.pid, t->tid, t->gone ? THREAD_RESUMED : start_flags(t));
	if (t->gone)
		__atomic_store_n(&lane->state, LANE_PARTING, __ATOMIC_RELEASE);
	else if (end_key_usable)
		libc.pthread_setspecific(end_key, t);
	return lane;
}

void thread_forking(struct thread *t, enum fork_state state)
{
	t->fork_state = state;
	t->set_aside = t->lane;
	t->fast = NO_LANE;
	t->lane = NULL;
}

void thread_forked(struct thread *t)
{
	t->fork_state = FORK_NONE;
	if (!t->set_aside)
		return;
	t->lane = t->set_aside;
	t->fast = clock_is_tsc && !t->shared ? t->lane : NO_LANE;
	t->set_aside = NULL;
}

struct lane *thread_mute(struct thread *t)
{
	struct lane *lane = t->lane;
	t->muted = 1;
	t->fast = NO_LANE;
	t->lane = NULL;
	THREAD_BARRIER();
	return lane;
}

void thread_unmute(struct thread *t, struct lane *lane)
{
	THREAD_BARRIER();
	t->lane = lane;
	t->fast = clock_is_tsc && !t->shared ? lane : NO_LANE;
	t->muted = 0;
}

struct lane *thread_attach(struct thread *t)
{
	if (t->muted || (t->shared && thread_is_stray(t)))
		return NULL;
	osrt_mend_busy(t);
	if (t->fork_state == FORK_CHILD || (t->set_aside && !session_is_ours()))
		session_child();
	if (t->orphan)
		return NULL;
	if (t->set_aside) {
		thread_forked(t);
		return t->lane;
	}
	if (t->busy) {
		if (session.spool)
			session_count_drop(DROP_NESTED);
		return NULL;
	}
	if (session.restricted)
		return NULL;
	uint32_t given_back = __atomic_load_n(&lanes_given_back, __ATOMIC_RELAXED);
	if (t->missed_lane && t->lanes_seen == given_back && t->missed_lane++ % MISSED_CALLS) {
		session_count_drop(DROP_NO_LANE);
		return NULL;
	}
	t->lanes_seen = given_back;
	uint64_t all = UINT64_MAX, before; /* the calls of a handler would have no lane yet */
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	thread_enter(t);
	struct lane *lane = attach(t);
	thread_leave(t);
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	return lane;
}

/* ---- the second lane ---- */

static bool spare_lease(struct thread *t, struct thread *s)
{
	struct lane *lane = lane_find(s);
	if (!lane)
		return false;
	lane->tid = t->tid;
	lane->pid = session.pid;
	lane->open.kind = 0;
	lane->open_depth = 0;
	lane->cuda_open.tick = 0;
	s->chunk = s->limit = 0;
	s->lane = lane;
	s->tid = t->tid;
	bytes_copy(s->name, t->name, sizeof(s->name));
	put_start(s, session.pid, t->tid, THREAD_RESUMED);
	/* The thread's end is told in its first lane; this one is free when the thread is dead. */
	__atomic_store_n(&lane->state, LANE_PARTING, __ATOMIC_RELEASE);
	return true;
}

/* Not while the tracer's own memory is being changed: that goes on later, on this thread. */
static bool spare_attach(struct thread *t)
{
	if (t->busy & BUSY_SLOW || t->vfork_pid || t->gone || session.restricted ||
		session.state != SESSION_ON)
		return false;
	uint64_t all = UINT64_MAX, before;
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	struct thread *s = sys_mmap_private(sizeof(*s));
	if (s) {
		thread_enter(s);
		if (spare_lease(t, s)) {
			t->spare = s;
			thread_leave(s);
		} else {
			sys_munmap(s, sizeof(*s));
		}
	}
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	return t->spare;
}

void thread_spare_prepare(struct thread *t)
{
	if (!t->spare)
		spare_attach(t);
}

bool thread_put_spare(struct thread *t, const struct record *record)
{
	if (!t->spare && !spare_attach(t))
		return false;
	struct thread *s = t->spare;
	if (!thread_try_enter(s))
		return false;
	struct record *r = lane_room(s, 1);
	if (r) {
		*r = *record;
		lane_publish(s, 1);
	}
	thread_give(s);
	return true;
}

/* Where it is interrupted for ever, the lane waits until the thread is dead. */
static void spare_give(struct thread *t)
{
	struct thread *s = t->spare;
	t->spare = NULL;
	if (!s)
		return;
	if (s->busy)
		return;
	__atomic_store_n(&s->lane->state, LANE_FREE, __ATOMIC_RELEASE);
	sys_munmap(s, sizeof(*s));
}

static void put_name(struct thread *t, const char *name);

/* Another thread may have named this one: its number was not known there. */
static void put_given_name(struct thread *t)
{
	char name[16] = "";
	if (session.restricted || t->names_given == thread_names_given)
		return;
	SYS2(SYS_prctl, PR_GET_NAME, name);
	if (!text_equal(name, t->name))
		put_name(t, name);
}

void thread_detach(struct thread *t)
{
	struct lane *lane = t->lane;
	if (!lane)
		return;
	osrt_abandon_open(t, 0, RECORD_ABANDONED);
	thread_enter(t);
	put_given_name(t);
	nvtx_detach(t);
	lane_flush_sums(t);
	lane_put(t, clock_ticks(), REC_THREAD_END, t->tid, session.pid, NULL, 0);
	t->lane = NULL;
	t->fast = NO_LANE;
	t->chunk = t->limit = 0;
	spare_give(t);
	__atomic_store_n(&lane->state, LANE_FREE, __ATOMIC_RELEASE);
	__atomic_fetch_add(&lanes_given_back, 1, __ATOMIC_RELAXED);
	thread_leave(t);
}

static void put_name(struct thread *t, const char *name)
{
	uint64_t words[2] = {0, 0};
	text_append((char *)words, sizeof(words), 0, name);
	bytes_copy(t->name, words, sizeof(t->name));
	lane_put(t, clock_ticks(), REC_THREAD_NAME, words[0], words[1], NULL, 0);
}

void thread_renamed(struct thread *t, const char *name)
{
	if (!t->lane && !thread_attach(t))
		return;
	thread_enter(t);
	put_name(t, name);
	thread_leave(t);
}

void thread_vfork_child(struct thread *t)
{
	t->vfork_pid = (uint32_t)sys_getpid();
	thread_enter(t);
	put_start(t, t->vfork_pid, t->vfork_pid, THREAD_VFORK_CHILD);
	thread_leave(t);
}

void thread_vfork_parent(struct thread *t, uint64_t sp)
{
	osrt_abandon_open(
		t, sp, RECORD_UNFINISHED); /* the exec, which does not return to the child */
	t->vfork_pid = 0;
	thread_enter(t);
	put_start(t, session.pid, t->tid, THREAD_RESUMED);
	chains_vfork_parent(t);
	thread_leave(t);
}
