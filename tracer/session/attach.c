/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach.c - attaching: the calling thread gets a lane, in a forked child a spool first.
 */
#define _GNU_SOURCE
#include "tracer/session/attach.h"

#include "common/sys.h"
#include "tracer/base/libc.h"
#include "tracer/session/fork.h"
#include "tracer/core/lane.h"
#include "tracer/core/lease.h"
#include "tracer/core/state.h"
#include "tracer/session/thread_records.h"
#include "tracer/producers.h"

pthread_key_t thread_end_key;
bool thread_end_key_usable;

/* A thread that got no lane tries again when a lane was given back, and after this many calls. */
#define MISSED_CALLS 1024u

static uint32_t start_flags(const struct thread *t)
{
	uint32_t flags = 0;
	if (t->tid == session.pid)
		flags |= session.spool->forked ? THREAD_FORKED : THREAD_MAIN;
	else if (!t->parent_tid)
		flags |= THREAD_FOUND;
	return flags;
}

/* `blocked`: the signals that the program has blocked. */
static struct lane *attach(struct thread *t, uint64_t blocked)
{
	if (__atomic_load_n(&session.state, __ATOMIC_ACQUIRE) == SESSION_FORKED &&
		!session_child_start())
		return NULL;
	if (__atomic_load_n(&session.state, __ATOMIC_ACQUIRE) != SESSION_ON)
		return NULL;
	/* A process that shares our memory may not have a lane of this spool. */
	if (!session_is_ours()) {
		session_count_drop(DROP_NO_LANE);
		return NULL;
	}
	struct lane *lane = session.restricted ? NULL : lease_take(t);
	t->missed_lane = !lane;
	if (!lane) {
		session_count_drop(DROP_NO_LANE);
		return NULL;
	}
	t->tid = (uint32_t)sys_gettid();
	lane->tid = t->tid;
	lane->pid = session.pid;
	t->chunk = t->limit = 0;
	t->chains_begun = 0;
	t->lane = lane;
	lane_audit_begin(t);
	producers_thread_start(t, blocked);
	thread_use_lane(t, lane);
	thread_put_start(t, session.pid, t->tid, t->gone ? THREAD_RESUMED : start_flags(t));
	if (t->gone) {
		__atomic_store_n(&lane->state, LANE_PARTING, __ATOMIC_RELEASE);
		return lane;
	}
	producers_thread_started(t);
	if (thread_end_key_usable)
		libc.pthread_setspecific(thread_end_key, t);
	return lane;
}

struct lane *thread_attach(struct thread *t)
{
	if (thread_is_muted(t) || (t->shared && thread_is_stray(t)))
		return NULL;
	if (__atomic_load_n(&session.state, __ATOMIC_ACQUIRE) == SESSION_FORKED && own_words.pid &&
		!session_is_childs_own()) {
		session_count_drop(DROP_SHARED);
		return NULL;
	}
	if (t->set_aside && thread_is_task_of_ours()) { /* the thread itself is in a fork */
		thread_look_for_stray(t);
		return NULL;
	}
	thread_mend_guard(t);
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
	uint32_t given_back = __atomic_load_n(&lease_given_back, __ATOMIC_RELAXED);
	if (t->missed_lane && t->lanes_seen == given_back && t->missed_lane++ % MISSED_CALLS) {
		session_count_drop(DROP_NO_LANE);
		return NULL;
	}
	t->lanes_seen = given_back;
	uint64_t before = sys_signals_block(); /* a handler's calls would have no lane yet */
	thread_enter(t);
	struct lane *lane = attach(t, before);
	thread_leave(t);
	sys_signals_set(before);
	return lane;
}

bool thread_enter_attached(struct thread *t)
{
	while (t->lane || thread_attach(t)) {
		thread_enter(t);
		if (t->lane)
			return true;
		thread_leave(t);
	}
	return false;
}

void thread_renamed(struct thread *t, const char *name)
{
	if (!thread_enter_attached(t))
		return;
	thread_put_name(t, name);
	thread_leave(t);
}

void thread_long_call(struct thread *t, uint64_t tick, uint64_t ticks)
{
	producers_long_call(t, tick, ticks);
}
