/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_end.c - the end of a thread, or of a vfork child that runs on it: open calls and ranges
 * are closed.
 */
#define _GNU_SOURCE
#include "tracer/session/thread_end.h"

#include <limits.h>
#include <sys/prctl.h>

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/base/libc.h"
#include "tracer/session/attach.h"
#include "tracer/core/chains.h"
#include "tracer/core/lane.h"
#include "tracer/core/lease.h"
#include "tracer/session/spare.h"
#include "tracer/core/state.h"
#include "tracer/session/thread_records.h"
#include "tracer/producers.h"

/* Record a name that another thread gave to this one, whose lane was not known there. */
static void put_given_name(struct thread *t)
{
	char name[16] = "";
	if (session.restricted || t->names_given == thread_names_given)
		return;
	SYS2(SYS_prctl, PR_GET_NAME, name);
	if (!text_equal(name, t->name))
		thread_put_name(t, name);
}

void thread_detach(struct thread *t)
{
	struct lane *lane = t->lane;
	if (!lane)
		return;
	producers_calls_left(t, 0, RECORD_ABANDONED);
	thread_enter(t);
	put_given_name(t);
	producers_thread_end(t);
	lane_audit(t);
	lane_flush_sums(t);
	lane_put(t, clock_ticks(), REC_THREAD_END, t->tid, session.pid, NULL, 0);
	thread_use_lane(t, NULL);
	t->chunk = t->limit = 0;
	spare_give(t);
	lease_give(lane);
	thread_leave(t);
}

/* glibc keeps the values of the first keys inside the thread; later ones are allocated when first
 * set, which a hook must never do. */
#define KEYS_WITHOUT_ALLOCATION 32

/* End the thread, in the last round of destructors: those of other keys may call traced
 * functions. */
static void end_hook(void *value)
{
	struct thread *t = &thread_self;
	(void)value;
	if (++t->end_rounds < PTHREAD_DESTRUCTOR_ITERATIONS &&
		libc.pthread_setspecific(thread_end_key, t) == 0)
		return;
	t->gone = 1; /* from here on nothing detaches a handler's lane */
	thread_detach(t);
}

void thread_end_start(void)
{
	thread_stack_usual_find();
	thread_end_key_usable = libc.pthread_key_create(&thread_end_key, end_hook) == 0 &&
		thread_end_key < KEYS_WITHOUT_ALLOCATION;
}

void thread_vfork_child(struct thread *t)
{
	t->vfork_pid = (uint32_t)sys_getpid();
	thread_enter(t);
	thread_put_start(t, t->vfork_pid, t->vfork_pid, THREAD_VFORK_CHILD);
	thread_leave(t);
}

void thread_vfork_parent(struct thread *t, uint64_t sp)
{
	/* Record the call of exec, which does not return to the child. */
	producers_calls_left(t, sp, RECORD_UNFINISHED);
	t->vfork_pid = 0;
	thread_enter(t);
	thread_put_start(t, session.pid, t->tid, THREAD_RESUMED);
	chains_vfork_parent(t);
	thread_leave(t);
}
