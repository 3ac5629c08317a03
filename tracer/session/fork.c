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
static uint64_t unrecorded;    /* this process's part of tree_control.unrecorded */

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
	unrecorded = 0;
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

/* Return the first thread of this forked child: the only one that may have its parent's lane. `t`
 * is the caller. NULL = not known: another thread is the first to call, and no wrapper has seen the
 * fork, or the first thread is still in the tracer. */
static struct thread *first_thread(struct thread *t)
{
	struct thread *forked = thread_in_fork;
	/* A new thread has neither lane nor tid. A task on the first thread's memory has both. */
	if (session.restricted || t->lane || t->set_aside || t->tid ||
		(uint32_t)sys_gettid() == own_words.pid)
		return t;
	return forked && forked->fork_state == FORK_CHILD ? forked : NULL;
}

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
		TREE_NOTE_UNTRACED_COPY,
		"forked behind a system call filter (seccomp), which may forbid the calls that "
		"create a spool");
}

/* Make the child, whose first thread is `t`, forget its parent. */
static void forget_parent(struct thread *t)
{
	bool on = session.state == SESSION_ON || session.state == SESSION_FORKED;
	session.pid = child_pid();
	session.is_root = false;
	if (on && orphan(t))
		return;
	session.spool = NULL;
	/* The child may be about to become another user's process, so it unmaps the spool. Not
	 * under a system call filter, nor if a handler that interrupted the tracer forked: the
	 * tracer continues with the parent's spool. */
	if (t->lane || t->set_aside)
		lane_left = t->lane ? t->lane : t->set_aside;
	if (!session.restricted && !thread_is_inside(t))
		spool_file_leave(lane_left);
	thread_forget(t);
	forked_thread = t;
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

void session_child(void)
{
	forget_parent(&thread_self);
}

#define FORGET_YIELDS 100u     /* forgetting takes a few system calls */
#define FORGET_SLEEP_NS 50000u /* a task that takes longer is off the processor, or gone */
#define FORGET_ROUNDS (FORGET_YIELDS + 1000000000u / FORGET_SLEEP_NS)

/* Take the turn if no task has it, or if the one that took it is gone. */
static bool turn_try(uint32_t task, bool look, uint32_t *ret_holder)
{
	*ret_holder = 0;
	return __atomic_compare_exchange_n(&own_words.forgetting, ret_holder, task, false,
		       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) ||
		(look && thread_task_is_gone(*ret_holder) &&
			__atomic_compare_exchange_n(&own_words.forgetting, ret_holder, task, false,
				__ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
}

/* Let one task of the child at a time forget the parent or start recording, while others that share
 * its memory wait. Return false if the task that does so is stopped. Signals are blocked. */
static bool turn_take(void)
{
	static uint32_t given_up; /* the task that was waited for in vain: not again */
	uint32_t task = (uint32_t)sys_gettid(), holder;
	for (uint32_t i = 0; !turn_try(task, i >= FORGET_YIELDS, &holder); i++) {
		if (i < FORGET_YIELDS) {
			SYS0(SYS_sched_yield);
			continue;
		}
		if (i >= FORGET_ROUNDS || holder == __atomic_load_n(&given_up, __ATOMIC_RELAXED)) {
			__atomic_store_n(&given_up, holder, __ATOMIC_RELAXED);
			return false;
		}
		sys_sleep_ns(FORGET_SLEEP_NS);
	}
	return true;
}

static void turn_give(void)
{
	__atomic_store_n(&own_words.forgetting, 0, __ATOMIC_RELEASE);
}

/* Count a call of a child that cannot record yet; report the reason once. */
static void count_unrecorded(const char *why)
{
	session_count_drops_early(DROP_NESTED, 1);
	__atomic_add_fetch(&session.control->unrecorded, 1, __ATOMIC_RELAXED);
	if (!unrecorded++)
		diagnostic_line(why);
}

static void forget(struct thread *caller)
{
	child_pid();
	struct thread *t = first_thread(caller);
	if (!t) {
		count_unrecorded("forked; a thread makes calls before the first thread does, which "
				 "may still use its parent's memory; calls are not recorded until "
				 "the first thread makes one");
		return;
	}
	thread_mend_guard(t);
	if (!t->orphan || !thread_is_inside(t)) {
		forget_parent(t);
		if (!t->orphan)
			return;
	}
	count_unrecorded("forked by a signal handler that interrupted the tracer; calls are not "
			 "recorded until the handler returns");
}

void session_forked(void)
{
	if (session.restricted) {
		forget(&thread_self);
		return;
	}
	uint64_t before = sys_signals_block();
	if (turn_take()) {
		if (gate_is_wiped())
			forget(&thread_self);
		turn_give();
	} else {
		session_count_drops_early(DROP_SHARED, 1);
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

static bool start(void)
{
	/* From now on the process is in the report: with a receipt, or as not traced. */
	__atomic_sub_fetch(&session.control->unrecorded, unrecorded, __ATOMIC_RELAXED);
	unrecorded = 0;
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

bool session_child_start(void)
{
	if (!turn_take()) {
		session_count_drop(DROP_SHARED);
		return false;
	}
	bool is_on = __atomic_load_n(&session.state, __ATOMIC_ACQUIRE) != SESSION_FORKED || start();
	turn_give();
	return is_on;
}

bool gate_opens(const uint32_t *mask)
{
	if (gate_is_wiped())
		session_forked();
	return tree_gate & *mask;
}
