/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tracer/libc.h"
#include "tracer/session.h"

#include <sys/auxv.h>

#include "common/clock.h"
#include "common/schema/functions.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/chains.h"
#include "tracer/child.h"
#include "tracer/cuda.h"
#include "tracer/gate.h"
#include "tracer/note.h"
#include "tracer/nvtx.h"
#include "tracer/nvtx_select.h"
#include "tracer/osrt.h"
#include "tracer/own_tree.h"
#include "tracer/patience.h"
#include "tracer/spool_file.h"
#include "tracer/valgrind.h"
#include "tracer/window.h"

struct session session;

static bool may_change_user;

extern char **environ;

void session_off(const char *reason)
{
	gate_use(false);
	__atomic_store_n(&session.state, SESSION_OFF, __ATOMIC_RELEASE);
	osrt_off = true;
	note(TREE_NOTE_LINE, reason);
	if (!session.spool)
		return;
	text_append(session.spool->off_reason, sizeof(session.spool->off_reason), 0, reason);
	__atomic_store_n(&session.spool->state, SPOOL_OFF, __ATOMIC_RELEASE);
}

/* Calls before the library was ready: made by constructors that run before ours. */
static uint32_t early_calls;

void session_gate_closed(void)
{
	if (session.state == SESSION_NEW)
		__atomic_add_fetch(&early_calls, 1, __ATOMIC_RELAXED);
}

#define EARLY_CHILDREN 8u
static uint32_t early_children[EARLY_CHILDREN], early_child_count;

void session_early_child(uint32_t pid)
{
	if (session.state == SESSION_NEW && early_child_count < EARLY_CHILDREN)
		early_children[early_child_count++] = pid;
}

/* Tells what happened before the library was ready. */
static void tell_early(void)
{
	__atomic_add_fetch(&session.spool->dropped[DROP_LATE],
		__atomic_exchange_n(&early_calls, 0, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < early_child_count; i++)
		tree_note(session.control, early_children[i], TREE_NOTE_UNTRACED,
			"made by a constructor, before the tracer was ready");
}

#define LOOK_LEAST_NS 5u /* no look at a clock takes less */

void session_pause(uint64_t ns)
{
	if (!session.restricted) {
		sys_sleep_ns(ns);
		return;
	}
	uint64_t end_ns = clock_monotonic_ns() + ns, rounds = ns / LOOK_LEAST_NS;
	while (clock_monotonic_ns() < end_ns && rounds--)
		;
}

void session_restrict(void)
{
	struct thread *t = &thread_self;
	if (!session.restricted && gate_is_open() && !t->vfork_pid &&
		(t->lane || thread_attach(t))) {
		thread_enter(t);
		spool_file_stock_up();
		thread_leave(t);
	}
	session.restricted = true;
}

void session_unlock_memory(void)
{
	extern char __bss_start[] __attribute__((visibility("hidden")));
	extern char _end[] __attribute__((visibility("hidden")));
	uint64_t begin = (uint64_t)(uintptr_t)__bss_start & ~UINT64_C(4095);
	if (session.state != SESSION_ON || session.restricted)
		return;
	SYS2(SYS_munlock, begin, (uint64_t)(uintptr_t)_end - begin);
	SYS2(SYS_munlock, session.control, TREE_CONTROL_BYTES);
	sys_unlock_tables();
	spool_file_unlock();
}

void session_count_drop(enum drop_reason reason)
{
	if (session.spool)
		__atomic_add_fetch(&session.spool->dropped[reason], 1, __ATOMIC_RELAXED);
}

/* ---- the spool ---- */

static uint64_t pid_namespace(void)
{
	char link[64];
	long length = sys_readlink("/proc/self/ns/pid", link, sizeof(link) - 1);
	uint64_t number = 0;
	for (long i = 0; i < length; i++)
		if (link[i] >= '0' && link[i] <= '9')
			number = number * 10 + (uint64_t)(link[i] - '0');
	return number;
}

/* Before main's arguments are at hand: as the kernel has them. */
static void read_arguments(void)
{
	long length =
		sys_read_file("/proc/self/cmdline", session.arguments, sizeof(session.arguments));
	session.arguments_bytes = length > 0 ? (uint32_t)length : 0;
	session.arguments_truncated = length + 1 >= (long)sizeof(session.arguments);
}

static void keep_arguments(int argc, char **argv)
{
	if (!argv)
		read_arguments();
	for (int i = 0; i < argc; i++) {
		size_t length = text_length(argv[i]) + 1;
		if (session.arguments_bytes + length > sizeof(session.arguments)) {
			session.arguments_truncated = 1;
			return;
		}
		bytes_copy(session.arguments + session.arguments_bytes, argv[i], length);
		session.arguments_bytes += (uint32_t)length;
	}
}

/* exe, cwd and arguments fit: 1 KiB, what is left of the first half, and the second half. */
static void spool_fill_text(struct spool_header *spool)
{
	char *text = spool->text;
	size_t at = text_append(text, SPOOL_TEXT_BYTES, 0, session.exe) + 1;
	spool->exe_bytes = (uint32_t)at;
	long cwd = SYS2(SYS_getcwd, text + at, SPOOL_TEXT_BYTES / 2 - at);
	spool->cwd_bytes = cwd > 0 ? (uint32_t)cwd : 0;
	at += spool->cwd_bytes;
	bytes_copy(text + at, session.arguments, session.arguments_bytes);
	spool->argv_bytes = session.arguments_bytes;
	spool->argv_truncated = session.arguments_truncated;
}

static void spool_fill(struct spool_header *spool)
{
	spool->version = SPOOL_VERSION;
	spool->fn_count = fn_count();
	spool->fn_hash = fn_hash();
	spool->pid = session.pid;
	spool->ppid = (uint32_t)sys_getppid();
	spool->state = SPOOL_RUNNING;
	spool->pid_namespace = pid_namespace();
	spool->clock_kind = clock_is_tsc ? CLOCK_KIND_TSC : CLOCK_KIND_MONOTONIC;
	spool->forked = session.state == SESSION_FORKED;
	spool->uid = (uint32_t)sys_getuid();
	clock_point_take(&spool->first);
	spool->last = spool->first;
	spool->start_realtime_ns = sys_clock_ns(CLOCK_REALTIME);
	spool->threshold_ns = session.config.threshold_ns;
	spool->osrt_off = !session.config.osrt;
	spool->limit_bytes = session.config.memory_bytes;
	spool_fill_text(spool);
	__atomic_store_n(&spool->magic, SPOOL_MAGIC, __ATOMIC_RELEASE);
}

#define SPOOLS_PER_WAKE 16u

/* The writer looks for itself, but many short processes could fill the memory in between. */
static void announce(void)
{
	struct tree_control *control = session.control;
	uint32_t spools = __atomic_add_fetch(&control->spools, 1, __ATOMIC_RELEASE);
	if (spools % SPOOLS_PER_WAKE)
		return;
	__atomic_add_fetch(&control->wake, 1, __ATOMIC_RELEASE);
	if (__atomic_load_n(&control->sleeping, __ATOMIC_ACQUIRE))
		sys_futex_wake(&control->wake, 1);
}

static bool spool_begin(void)
{
	char *path = session.spool_path;
	size_t bytes = sizeof(session.spool_path);
	size_t at = text_append(path, bytes, 0, session.tree);
	at = text_append(path, bytes, at, "/");
	at = text_append_number(path, bytes, at, session.pid, 10);
	at = text_append(path, bytes, at, "-");
	at = text_append_number(path, bytes, at, clock_ticks(), 16);
	text_append(path, bytes, at, ".spool");
	int error;
	struct spool_header *spool = spool_file_create(path, session.config.memory_bytes, &error);
	if (!spool)
		return false;
	spool_fill(spool);
	session.spool = spool;
	error = spool_file_publish(path);
	announce();
	return error == 0;
}

/* ---- start, fork, end ---- */

static bool begin_spool(void)
{
	if (spool_begin())
		return true;
	note(TREE_NOTE_UNTRACED,
		"no space or no permission for its spool, or its folder is not visible there");
	session.spool = NULL;
	return false;
}

/* Programs may write over their environment (setproctitle); forked children still want these. */
static void keep_strings(void)
{
	struct config *c = &session.config;
	if (c->output) {
		text_append(session.output, sizeof(session.output), 0, c->output);
		c->output = session.output;
	}
	if (c->spool_dir) {
		text_append(session.spool_base, sizeof(session.spool_base), 0, c->spool_dir);
		c->spool_dir = session.spool_base;
	}
}

/* Programs that libc starts by itself take the environment as it is. */
static void leave_environment(void)
{
	struct child_environment plan;
	child_environment_plan(VERDICT_BY_OPTION, environ, &plan);
	void *memory = sys_mmap_private(child_environment_bytes(&plan));
	if (memory)
		environ = (char **)(uintptr_t)child_environment_make(&plan, environ, memory);
}

static void note_bad_value(const char *name)
{
	char text[160];
	text_append(text, sizeof(text), text_append(text, sizeof(text), 0, name),
		" has a value that is not understood: its default holds");
	session_note(text);
}

static void note_cut_values(void)
{
	char text[100];
	for (uint32_t n = 0; session.config.cut >> n && n < 64; n++)
		if (config_cut_text(&session.config, n, text, sizeof(text)))
			session_note(text);
}

/* The program that Valgrind runs is left alone; what that starts is not run by it, as a rule. */
static bool left_to_valgrind(void)
{
	if (!runs_on_valgrind())
		return false;
	session.config.all_locks = false; /* that way asks who has the lock */
	if (own_tree_join())
		note(TREE_NOTE_UNTRACED, "Valgrind runs it");
	return true;
}

void session_start(int argc, char **argv, char **envp)
{
	/* A set-user-id program must not follow variables of its caller. The loader has refused us
	 * already, unless told otherwise. */
	if (getauxval(AT_SECURE))
		return;
	config_read(&session.config, envp);
	if (config_has_source(&session.config) && own_tree_is_filtered()) {
		session.restricted = true;
		return;
	}
	window_start();
	keep_strings();
	child_options_keep(envp);
	keep_arguments(argc, argv);
	session.pid = (uint32_t)sys_getpid();
	may_change_user = !sys_geteuid();
	if (!config_has_source(&session.config) || left_to_valgrind() || !own_tree_find_home())
		return;
	long length = sys_readlink("/proc/self/exe", session.exe, sizeof(session.exe) - 1);
	session.exe[length > 0 ? length : 0] = 0;
	uint64_t start_ns = clock_monotonic_ns();
	if (!own_tree_enter() || !begin_spool())
		return;
	if (session.config.bad)
		note_bad_value(session.config.bad);
	note_cut_values();
	osrt_start();
	chains_start();
	nvtx_select_start();
	session.spool->tracer_ticks = osrt_ticks(clock_monotonic_ns() - start_ns);
	__atomic_store_n(&session.state, SESSION_ON, __ATOMIC_RELEASE);
	gate_wipe_on_fork();
	gate_use(true);
	tell_early();
	if (!session.config.follow)
		leave_environment();
}

/* Root's children may be about to become another user's processes: they lose the parent's spool
 * before they do anything. */
void session_before_fork(void)
{
	if (session.state != SESSION_OFF)
		thread_forking(&thread_self,
			gate_is_open() && !session.restricted && !may_change_user ? FORK_LAZY
										  : FORK_EAGER);
}

FORKED_TEXT bool session_is_ours(void)
{
	return session.restricted || (uint32_t)sys_getpid() == session.pid;
}

FORKED_TEXT void session_child_handler(void)
{
	struct thread *t = &thread_self;
	if (t->fork_state == FORK_LAZY)
		t->fork_state = FORK_CHILD;
	if ((t->fork_state == FORK_CHILD && !thread_is_inside(t)) || session.state == SESSION_OFF)
		return;
	/* None: a handler before ours has called something, or a fork that we did not see. */
	if (t->fork_state == FORK_EAGER || t->fork_state == FORK_CHILD || session.restricted ||
		(uint32_t)sys_getpid() != session.pid)
		session_child();
}

static struct lane *lane_left; /* the parent's, of the thread that forked */

/* Calls of a child that could not be recorded before it had a spool. */
static uint32_t orphaned_calls;

/*
 * A handler that interrupted the tracer has forked: in the child the tracer will go on where it was
 * when the handler returns. So the child keeps all that it may touch, as a private copy of the
 * parent's spool, which nobody reads; and its gate stays closed until then.
 */
static bool orphan(struct thread *t)
{
	if (session.restricted || !session.spool || !thread_is_inside(t))
		return false;
	if (!t->orphan && !spool_file_detach())
		return false;
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
	/* It may be about to become another user's process. Not behind a system call filter, nor
	 * where a handler that interrupted the tracer forks: that goes on with what it had. */
	if (thread_self.lane || thread_self.set_aside)
		lane_left = thread_self.lane ? thread_self.lane : thread_self.set_aside;
	if (!session.restricted && !thread_is_inside(&thread_self))
		spool_file_leave(lane_left);
	thread_forget(&thread_self);
	patience_renew();
	if (!on)
		return;
	/* Under a system call filter no spool can be made. */
	bool follow = session.config.follow && !session.restricted;
	session.state = follow ? SESSION_FORKED : SESSION_OFF;
	gate_use(follow);
}

void session_forked(void)
{
	struct thread *t = &thread_self;
	osrt_mend_busy(t);
	if (!t->orphan || !thread_is_inside(t)) {
		session_child();
		if (!t->orphan)
			return;
	}
	if (!orphaned_calls++)
		note(TREE_NOTE_LINE,
			"forked by a signal handler that interrupted the tracer: its calls are not "
			"recorded until the handler has returned");
}

bool session_child_start(void)
{
	spool_file_leave(lane_left);
	lane_left = NULL;
	if (!own_tree_of_child()) {
		session_off("no tree for a forked child");
		return false;
	}
	if (!begin_spool()) {
		session_off("no spool for a forked child");
		return false;
	}
	osrt_forked();
	chains_forked();
	nvtx_forked();
	cuda_forked();
	session.spool->dropped[DROP_NESTED] += orphaned_calls;
	orphaned_calls = 0;
	gate_use(true);
	__atomic_store_n(&session.state, SESSION_ON, __ATOMIC_RELEASE);
	return true;
}

#define WAIT_SLICE_NS 20000000u

static void wait_until_drained(void)
{
	struct tree_control *control = session.control;
	struct spool_header *spool = session.spool;
	__atomic_add_fetch(&control->exit_requests, 1, __ATOMIC_RELEASE);
	__atomic_add_fetch(&control->wake, 1, __ATOMIC_RELEASE);
	sys_futex_wake(&control->wake, 1);
	uint64_t end_ns = clock_monotonic_ns() + session.config.exit_wait_ns;
	for (uint64_t waited = 0;
		waited < session.config.exit_wait_ns && clock_monotonic_ns() < end_ns;
		waited += WAIT_SLICE_NS) {
		if (__atomic_load_n(&spool->drained, __ATOMIC_ACQUIRE))
			return;
		uint32_t state = __atomic_load_n(&control->writer_state, __ATOMIC_ACQUIRE);
		if (state == WRITER_FAILED || state == WRITER_FINISHED ||
			tree_writer_died(control) ||
			(state == WRITER_NONE && session.writer_missing))
			return;
		sys_futex_wait(&spool->drained, 0, WAIT_SLICE_NS);
	}
}

/* A vfork child runs on our memory, but its end is not ours. */
FORKED_TEXT static bool is_this_process(void)
{
	return session.state == SESSION_ON && !thread_self.fork_state && !thread_self.vfork_pid &&
		session_is_ours();
}

FORKED_TEXT void session_end(int status)
{
	if (!is_this_process() || session.spool->state == SPOOL_EXITED)
		return;
	cuda_flush(true);
	thread_enter(&thread_self);
	chains_end();
	session.spool->exit_status = status;
	session.spool->end_tick = clock_ticks();
	__atomic_store_n(&session.spool->state, SPOOL_EXITED, __ATOMIC_RELEASE);
	if (session.is_root && session.config.writer && !session.restricted)
		wait_until_drained();
	thread_leave(&thread_self);
}

void session_exec(void)
{
	if (!is_this_process())
		return;
	cuda_flush(false);
	session.spool->end_tick = clock_ticks();
	__atomic_store_n(&session.spool->state, SPOOL_EXEC, __ATOMIC_RELEASE);
}

void session_exec_failed(void)
{
	if (is_this_process())
		__atomic_store_n(&session.spool->state, SPOOL_RUNNING, __ATOMIC_RELEASE);
}
