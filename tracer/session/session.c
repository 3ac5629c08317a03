/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - the course of a session: start, system call filters, exec and end of the process.
 */
#define _GNU_SOURCE
#include "tracer/session/session.h"

#include <sys/auxv.h>

#include "common/clock.h"
#include "common/env.h"
#include "common/sys.h"
#include "common/text.h"
#include "machine/machine.h"
#include "tracer/session/attach.h"
#include "tracer/core/chains.h"
#include "tracer/session/child.h"
#include "tracer/core/diagnostic.h"
#include "tracer/session/process_tree.h"
#include "tracer/session/spool.h"
#include "tracer/core/lane.h"
#include "tracer/core/spool_file.h"
#include "tracer/core/window.h"
#include "tracer/producers.h"

extern char **environ;

/* Calls before the library was ready, by constructors that run before ours. */
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

/* Report what happened before the library was ready. */
static void report_early(void)
{
	__atomic_add_fetch(&session.spool->dropped[DROP_LATE],
		__atomic_exchange_n(&early_calls, 0, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < early_child_count; i++)
		tree_note(session.control, early_children[i], TREE_NOTE_UNTRACED,
			"forked by a constructor before the tracer was ready");
}

void session_restrict(void)
{
	struct thread *t = &thread_self;
	if (!session.restricted && gate_is_open() && !t->vfork_pid && thread_enter_attached(t)) {
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

/* ---- start ---- */

/* Read the arguments from the kernel, before main's arguments are available. */
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

/* Copy strings that forked children need: programs may write over their environment
 * (setproctitle). */
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

/* Remove the library from the environment: programs that libc starts itself (system, popen) inherit
 * it unchanged. */
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
		" has an invalid value; using its default");
	diagnostic_line(text);
}

/* Copy the name of a variable, which ends at '='. */
static size_t name_append(char *text, size_t bytes, size_t at, const char *variable)
{
	for (; *variable && *variable != '=' && at + 1 < bytes; variable++)
		text[at++] = *variable;
	text[at] = 0;
	return at;
}

#define UNKNOWN_NOTED 4u

/* Report variables that are not options and may be misspelled, once in a tree. */
static void note_unknown_variables(char **envp)
{
	const char *variable;
	for (uint32_t n = 0; n < UNKNOWN_NOTED && (variable = env_unknown(envp, n)); n++) {
		char text[160];
		size_t at = name_append(text, 100, 0, variable);
		text_append(text, sizeof(text), at, " is not a variable of libtrace");
		diagnostic_line(text);
	}
}

static void note_cut_values(void)
{
	char text[100];
	for (uint32_t n = 0; n < 64 && session.config.cut >> n; n++)
		if (config_cut_text(&session.config, n, text, sizeof(text)))
			diagnostic_line(text);
}

/* Return true if Valgrind runs the program: it is not traced; programs that it starts usually do
 * not run under Valgrind. */
static bool left_to_valgrind(void)
{
	if (!machine_on_valgrind())
		return false;
	session.config.all_locks = false; /* that path reads the lock's holder */
	if (process_tree_join())
		diagnostic_note(TREE_NOTE_UNTRACED, "it runs under Valgrind");
	return true;
}

void session_start(int argc, char **argv, char **envp)
{
	/* A set-user-id program must not follow variables of its caller. The loader has refused
	 * to preload us already, unless asked otherwise (/etc/ld.so.preload). */
	if (getauxval(AT_SECURE))
		return;
	config_read(&session.config, envp);
	if (config_has_source(&session.config) && process_tree_is_filtered()) {
		session.restricted = true;
		return;
	}
	window_start();
	keep_strings();
	child_options_keep(envp);
	keep_arguments(argc, argv);
	session.pid = (uint32_t)sys_getpid();
	session.may_change_user = !sys_geteuid();
	if (!config_has_source(&session.config) || left_to_valgrind() || !process_tree_find_home())
		return;
	long length = sys_readlink("/proc/self/exe", session.exe, sizeof(session.exe) - 1);
	session.exe[length > 0 ? length : 0] = 0;
	uint64_t start_ns = clock_monotonic_ns();
	if (!process_tree_enter() || !session_spool_begin())
		return;
	if (session.config.bad)
		note_bad_value(session.config.bad);
	note_cut_values();
	if (session.is_root)
		note_unknown_variables(envp);
	if (session.is_root && session.config.gpuctxsw)
		diagnostic_line(TREE_NOTE_GPUCTXSW);
	chains_start();
	producers_start();
	session.spool->tracer_ticks = session_ticks(clock_monotonic_ns() - start_ns);
	__atomic_store_n(&session.state, SESSION_ON, __ATOMIC_RELEASE);
	gate_wipe_on_fork();
	gate_use(true);
	report_early();
	if (!session.config.follow)
		leave_environment();
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

/* Return false in a vfork child: it runs on our memory, but its end is not the end of this
 * process. */
FORKED_TEXT static bool is_this_process(void)
{
	return session.state == SESSION_ON && !thread_self.fork_state && !thread_self.vfork_pid &&
		session_is_ours();
}

FORKED_TEXT void session_end(int status)
{
	if (!is_this_process() || session.spool->state == SPOOL_EXITED)
		return;
	producers_flush(true);
	thread_enter(&thread_self);
	if (thread_self.lane)
		lane_audit(&thread_self);
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
	producers_flush(false);
	session.spool->end_tick = clock_ticks();
	__atomic_store_n(&session.spool->state, SPOOL_EXEC, __ATOMIC_RELEASE);
}

void session_exec_failed(void)
{
	if (is_this_process())
		__atomic_store_n(&session.spool->state, SPOOL_RUNNING, __ATOMIC_RELEASE);
}
