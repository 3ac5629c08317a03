/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.c - forked children: they forget their parent's spool, and create their own at their first
 * call.
 */
#define _GNU_SOURCE
#include "tracer/session/fork.h"

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
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
	t->created = clock_ticks(); /* the kernel's copying is over */
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

/*
 * Prepare a child that was forked by a handler that had interrupted the tracer: in the child, too,
 * the tracer continues when the handler returns. Until the tracer has been left, the gate stays
 * closed, and the child writes to a private copy of the parent's spool, which nobody reads.
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
			"of its lane: an event of its parent may be duplicated or lost");
	}
	thread_orphan(t);
	own_words.alive = 0;
	own_words.session_mask = own_words.osrt_mask = 0;
	session.state = SESSION_FORKED;
	return true;
}

#define GENERATIONS 8u

/* Return the pid of a process's parent, 0 if it cannot be read. */
static int parent_of(int pid)
{
	char path[32] = "/proc/", text[128];
	uint64_t parent = 0;
	text_append(path, sizeof(path),
		text_append_number(path, sizeof(path), text_length(path), (uint64_t)pid, 10),
		"/stat");
	long bytes = sys_read_file(path, text, sizeof(text)), at = bytes;
	while (at > 0 && text[at] != ')') /* "PID (NAME) STATE PARENT ..." */
		at--;
	for (at += 4; at < bytes && text[at] >= '0' && text[at] <= '9'; at++)
		parent = parent * 10 + (uint64_t)(text[at] - '0');
	return (int)parent;
}

/* Return the pid of the forked child that owns this memory. Its first call may come from a task
 * that it created by a raw system call with CLONE_VM, or from a task of such a task. */
static uint32_t child_pid(void)
{
	if (own_words.alive) /* before Linux 4.14: copied from the parent */
		own_words.pid = 0;
	if (own_words.pid)
		return own_words.pid;
	session_forget_early_drops();
	int pid = sys_getpid(), parent = session.restricted ? 0 : sys_getppid(), owner = pid;
	for (unsigned i = 0; i < GENERATIONS && parent > 0 && sys_compare_memory(pid, parent) == 0;
		i++) {
		owner = parent;
		parent = parent_of(owner);
	}
	own_words.pid = (uint32_t)owner;
	return own_words.pid;
}

static struct thread *forked_thread; /* the first thread of a forked child */

bool session_is_childs_own(void)
{
	struct thread *t = &thread_self;
	if (t != forked_thread || session.restricted)
		return true;
	uint32_t tid = (uint32_t)sys_gettid();
	if (tid == session.pid)
		return true;
	if (!t->shared) {
		t->tid = session.pid;
		thread_share(t, tid);
	}
	return false;
}

/* Report a child that cannot have a spool. The clock makes no system call if the vdso serves it. */
static void report_filtered(void)
{
	const struct tree_control *control = session.control;
	tree_note_at(session.control,
		clock_is_tsc ? clock_monotonic_ns() : control->created_mono_ns, session.pid,
		TREE_NOTE_UNTRACED,
		"forked behind a system call filter (seccomp), which may forbid the calls that "
		"create a spool");
}

void session_child(void)
{
	bool on = session.state == SESSION_ON || session.state == SESSION_FORKED;
	session.pid = child_pid();
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
	forked_thread = &thread_self;
	writer_wait_reset();
	if (!on)
		return;
	/* Under a system call filter no spool can be created. */
	bool follow = session.config.follow && !session.restricted;
	if (session.restricted && session.config.follow)
		report_filtered();
	session.state = follow ? SESSION_FORKED : SESSION_OFF;
	gate_use(follow);
}

#define FORGET_YIELDS 100u     /* forgetting takes a few system calls */
#define FORGET_SLEEP_NS 50000u /* a task that takes longer is off the processor, or gone */
#define FORGET_ROUNDS (FORGET_YIELDS + 1000000000u / FORGET_SLEEP_NS)

/* Become the task that forgets the parent, if none does, or if the one that began is gone. */
static bool forget_try(uint32_t task, bool look, uint32_t *ret_holder)
{
	*ret_holder = 0;
	return __atomic_compare_exchange_n(&own_words.forgetting, ret_holder, task, false,
		       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) ||
		(look && thread_task_is_gone(*ret_holder) &&
			__atomic_compare_exchange_n(&own_words.forgetting, ret_holder, task, false,
				__ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
}

/* Let one task of the child forget the parent, while others that share its memory wait. Return
 * false if the parent is forgotten, or if the task that does so is stopped: the gate stays closed
 * until it continues. Signals are blocked. */
static bool forget_begin(void)
{
	static uint32_t given_up; /* the task that was waited for in vain: not again */
	uint32_t task = (uint32_t)sys_gettid(), holder;
	for (uint32_t i = 0; !forget_try(task, i >= FORGET_YIELDS, &holder); i++) {
		if (i < FORGET_YIELDS) {
			SYS0(SYS_sched_yield);
			continue;
		}
		if (i >= FORGET_ROUNDS || holder == __atomic_load_n(&given_up, __ATOMIC_RELAXED)) {
			__atomic_store_n(&given_up, holder, __ATOMIC_RELAXED);
			session_count_drops_early(DROP_SHARED, 1);
			return false;
		}
		sys_sleep_ns(FORGET_SLEEP_NS);
	}
	if (gate_is_wiped())
		return true;
	__atomic_store_n(&own_words.forgetting, 0, __ATOMIC_RELEASE);
	return false;
}

static void forget(struct thread *t)
{
	child_pid();
	thread_mend_guard(t);
	if (!t->orphan || !thread_is_inside(t)) {
		session_child();
		if (!t->orphan)
			return;
	}
	static bool reported;
	session_count_drops_early(DROP_NESTED, 1);
	if (!reported)
		diagnostic_note(TREE_NOTE_LINE,
			"forked by a signal handler that interrupted the tracer; calls are not "
			"recorded until the handler returns");
	reported = true;
}

void session_forked(void)
{
	if (session.restricted) {
		forget(&thread_self);
		return;
	}
	uint64_t before = sys_signals_block();
	if (forget_begin()) {
		forget(&thread_self);
		__atomic_store_n(&own_words.forgetting, 0, __ATOMIC_RELEASE);
	}
	sys_signals_set(before);
}

void session_count_inherited(void)
{
	if (gate_is_wiped()) /* session.spool may be the parent's */
		session_count_drops_early(DROP_NESTED, 1);
	else
		session_count_drop(DROP_NESTED);
}

bool session_child_start(void)
{
	spool_file_leave(lane_left);
	lane_left = NULL;
	session.shares_fds = sys_compare_files(sys_getpid(), sys_getppid()) == 0;
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
	session_move_early_drops();
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
