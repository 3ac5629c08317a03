/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spare.c - the second lane of a thread that switches stacks within the tracer.
 */
#define _GNU_SOURCE
#include "tracer/session/spare.h"

#include "common/sys.h"
#include "common/text.h"
#include "tracer/core/lane.h"
#include "tracer/core/lease.h"
#include "tracer/core/state.h"
#include "tracer/session/thread_records.h"
#include "tracer/producers.h"

static bool lease(struct thread *t, struct thread *s)
{
	struct lane *lane = lease_take(s);
	if (!lane)
		return false;
	lane->tid = t->tid;
	lane->pid = session.pid;
	s->chunk = s->limit = 0;
	s->lane = lane;
	lane_audit_begin(s);
	producers_thread_start(s, 0);
	s->tid = t->tid;
	bytes_copy(s->name, t->name, sizeof(s->name));
	thread_put_start(s, session.pid, t->tid, THREAD_RESUMED);
	/* The thread's end is recorded in its first lane; the second lane becomes free when the
	 * thread is dead. */
	__atomic_store_n(&lane->state, LANE_PARTING, __ATOMIC_RELEASE);
	return true;
}

/* Attach the second lane. Return false if it cannot be attached now: for example, while this thread
 * is changing the tracer's own memory on another stack, where the change continues later. */
static bool attach(struct thread *t)
{
	if (t->busy & BUSY_SLOW || t->vfork_pid || t->gone || session.restricted ||
		session.state != SESSION_ON)
		return false;
	uint64_t before = sys_signals_block();
	struct thread *s = sys_mmap_beyond_data(sizeof(*s));
	if (s) {
		thread_enter(s);
		if (lease(t, s)) {
			t->spare = s;
			thread_leave(s);
		} else {
			sys_munmap(s, sizeof(*s));
		}
	}
	sys_signals_set(before);
	return t->spare;
}

void spare_prepare(struct thread *t)
{
	if (!t->spare)
		attach(t);
}

bool spare_put(struct thread *t, const struct record *record)
{
	if (!t->spare && !attach(t))
		return false;
	struct thread *s = t->spare;
	if (!s || !thread_try_enter(s))
		return false;
	struct record *r = s->lane ? lane_room(s, 1) : NULL;
	if (r) {
		*r = *record;
		lane_publish(s, 1);
	}
	thread_give(s);
	return true;
}

/* Give back the second lane. If it is busy, code of the tracer was left in the middle and never
 * continues: the lane then stays taken until the thread is dead. */
void spare_give(struct thread *t)
{
	struct thread *s = t->spare;
	t->spare = NULL;
	if (!s)
		return;
	if (s->busy)
		return;
	lease_give(s->lane);
	sys_munmap(s, sizeof(*s));
}
