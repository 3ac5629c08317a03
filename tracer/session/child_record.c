/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child_record.c - records of children created, and of programs about to be executed.
 */
#define _GNU_SOURCE
#include "tracer/session/child_record.h"

#include "common/clock.h"
#include "common/text.h"
#include "tracer/session/attach.h"
#include "tracer/core/lane.h"
#include "tracer/core/state.h"

void child_record(
	unsigned long pid, enum child_how how, enum child_verdict verdict, const char *path)
{
	struct thread *t = &thread_self;
	if (session.state == SESSION_OFF || session.restricted || !thread_enter_attached(t))
		return;
	if (verdict == VERDICT_BAD_POINTER) {
		verdict = VERDICT_UNREADABLE;
		path = NULL;
	}
	unsigned kind = how == CHILD_EXEC || how == CHILD_EXEC_FAILED ? REC_EXEC : REC_CHILD;
	uint64_t tick = clock_ticks(), what = (uint64_t)how << 32 | verdict;
	if (t->nested) /* a handler interrupted the tracer: no room for a path */
		lane_put_nested(t, &(struct record){tick, kind, pid, what});
	else
		lane_put(t, tick, kind, pid, what, path, path ? text_length(path) : 0);
	thread_leave(t);
}

void child_waited(unsigned long pid, int status)
{
	struct thread *t = &thread_self;
	if (session.state == SESSION_OFF || session.restricted ||
		(t->shared && thread_is_stray(t)) || !thread_enter_attached(t))
		return;
	const struct record r = {clock_ticks(), REC_WAITED, pid, (uint32_t)status};
	if (t->nested)
		lane_put_nested(t, &r);
	else
		lane_put(t, r.tick, REC_WAITED, r.a, r.b, NULL, 0);
	thread_leave(t);
}

void child_exec_failed(void)
{
	if (thread_self.vfork_pid)
		child_record(0, CHILD_EXEC_FAILED, VERDICT_TRACED, NULL);
}

void child_start_failed(enum child_how how)
{
	child_record((unsigned long)how, CHILD_EXEC_FAILED, VERDICT_TRACED, NULL);
}
