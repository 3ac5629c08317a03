/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.c - forked children: they forget their parent's spool, and get their own at their first
 * call.
 */
#define _GNU_SOURCE
#include "tracer/session/fork.h"

#include "common/sys.h"
#include "tracer/core/chains.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/names.h"
#include "tracer/session/process_tree.h"
#include "tracer/session/spool.h"
#include "tracer/core/spool_file.h"
#include "tracer/core/thread.h"
#include "tracer/core/writer_wait.h"
#include "tracer/producers.h"

/* Prepare for a fork. A child of root may be about to become another user's process: it forgets its
 * parent's spool at once. */
void session_before_fork(void)
{
	if (session.state != SESSION_OFF)
		thread_forking(&thread_self,
			gate_is_open() && !session.restricted && !session.may_change_user
				? FORK_LAZY
				: FORK_EAGER);
}

FORKED_TEXT void session_child_handler(void)
{
	struct thread *t = &thread_self;
	if (t->fork_state == FORK_LAZY)
		t->fork_state = FORK_CHILD;
	if ((t->fork_state == FORK_CHILD && !thread_is_inside(t)) || session.state == SESSION_OFF)
		return;
	/* FORK_NONE: a handler before ours has made a call, or no wrapper has seen the fork. */
	if (t->fork_state == FORK_EAGER || t->fork_state == FORK_CHILD || session.restricted ||
		(uint32_t)sys_getpid() != session.pid)
		session_child();
}

static struct lane *lane_left; /* the parent's lane, of the thread that forked */

/* Calls of a child that could not be recorded before it had a spool. */
static uint32_t orphaned_calls;

/*
 * Prepare a child in which the tracer will continue: a handler that interrupted the tracer has
 * forked, and in the child, too, the tracer continues when the handler returns. The child keeps all
 * that the tracer may touch as a private copy of the parent's spool, which nobody reads. Its gate
 * stays closed until then.
 */
static bool orphan(struct thread *t)
{
	if (!session.spool || !thread_is_inside(t))
		return false;
	if (!t->orphan && (session.restricted || !spool_file_detach())) {
		/* The interrupted code still continues in the parent's lane. */
		session_count_drop(DROP_SHARED);
		diagnostic_line(
			"forked by a signal handler that interrupted the tracer, without a copy "
			"of its lane: an event of its parent may be doubled or lost");
	}
	thread_orphan(t);
	own_words.alive = 0;
	own_words.session_mask = own_words.osrt_mask = 0;
	session.state = SESSION_FORKED;
	return true;
}

void session_child(void)
{
	bool on = session.state == SESSION_ON || session.state == SESSION_FORKED;
	session.pid = (uint32_t)sys_getpid();
	session.is_root = false;
	if (on && orphan(&thread_self))
		return;
	session.spool = NULL;
	/* The child may be about to become another user's process, so it unmaps the spool. Not
	 * under a system call filter, nor if a handler that interrupted the tracer forked: the
	 * tracer continues with the parent's spool. */
	if (thread_self.lane || thread_self.set_aside)
		lane_left = thread_self.lane ? thread_self.lane : thread_self.set_aside;
	if (!session.restricted && !thread_is_inside(&thread_self))
		spool_file_leave(lane_left);
	thread_forget(&thread_self);
	writer_wait_reset();
	if (!on)
		return;
	/* Under a system call filter no spool can be created. */
	bool follow = session.config.follow && !session.restricted;
	session.state = follow ? SESSION_FORKED : SESSION_OFF;
	gate_use(follow);
}

void session_forked(void)
{
	struct thread *t = &thread_self;
	thread_mend_guard(t);
	if (!t->orphan || !thread_is_inside(t)) {
		session_child();
		if (!t->orphan)
			return;
	}
	if (!orphaned_calls++)
		diagnostic_note(TREE_NOTE_LINE,
			"forked by a signal handler that interrupted the tracer; calls are not "
			"recorded until the handler returns");
}

void session_count_inherited(void)
{
	if (session.state == SESSION_FORKED || gate_is_wiped())
		orphaned_calls++;
	else
		session_count_drop(DROP_NESTED);
}

bool session_child_start(void)
{
	spool_file_leave(lane_left);
	lane_left = NULL;
	if (!process_tree_of_child()) {
		gate_shut("cannot create a session for the forked child");
		return false;
	}
	if (!session_spool_begin()) {
		gate_shut("cannot create a spool for the forked child");
		return false;
	}
	chains_forked();
	names_forked();
	producers_forked();
	session.spool->dropped[DROP_NESTED] += orphaned_calls;
	orphaned_calls = 0;
	gate_use(true);
	__atomic_store_n(&session.state, SESSION_ON, __ATOMIC_RELEASE);
	return true;
}

bool gate_opens(const uint32_t *mask)
{
	if (gate_is_wiped())
		session_forked();
	return tree_gate & *mask;
}
