/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrap_process.c - functions that create processes or end this one. The entries of vfork and
 * syscall are in entry.S.
 */
#define _GNU_SOURCE
#include "inject/fn.h"
#include "machine/machine.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <syslog.h>

#include "tracer/cpu/cpu.h"
#include "tracer/session/child.h"
#include "tracer/session/child_record.h"
#include "tracer/session/process_tree.h"
#include "tracer/session/thread_end.h"

/* ---- fork: the atfork handler (preload.c) does the child's side, before other handlers run
 * ---- */

/* Attach a forked child at once if CPU samples are taken, so that it is sampled even if it makes no
 * call. A child of root may be about to become another user's process, so it attaches at its first
 * call. */
FORKED_TEXT static void child_begun(void)
{
	if (session.config.cpu && cpu_is_on && !session.may_change_user && gate_is_open() &&
		!thread_self.lane)
		thread_attach(&thread_self);
}

static void end_fork(const struct call *call, unsigned fn, pid_t pid, enum child_how how)
{
	if (pid == 0)
		return;
	osrt_end(call, fn, FN_BITS(pid), osrt_object(FN_BITS(pid > 0 ? pid : 0), FN_ERRNO(pid)));
	if (pid > 0)
		child_record((unsigned long)pid, how, VERDICT_TRACED, NULL);
}

/* Fork. No atfork handler is registered yet if a constructor that runs before ours forks. */
FORKED_TEXT static pid_t fork_real(void)
{
	session_before_fork();
	pid_t pid = REAL(fork)();
	if (pid == 0) {
		session_child_handler();
		child_begun();
	} else {
		thread_forked(&thread_self);
	}
	return pid;
}

FORKED_TEXT WRAPPER(pid_t, fork, (void))
{
	struct call call;
	if (!call_begin(&call, FN_fork)) {
		pid_t pid = fork_real();
		if (pid > 0)
			session_early_child((uint32_t)pid);
		if (pid > 0)
			child_record((unsigned long)pid, CHILD_FORK, VERDICT_TRACED, NULL);
		return pid;
	}
	pid_t pid = fork_real();
	end_fork(&call, FN_fork, pid, CHILD_FORK);
	return pid;
}

/* Fork without atfork handlers. */
WRAPPER(pid_t, _Fork, (void))
{
	struct call call;
	if (!call_begin(&call, FN__Fork))
		call.t = NULL;
	pid_t pid = REAL(_Fork)();
	if (pid == 0) {
		session_child();
		child_begun();
	} else if (call.t) {
		end_fork(&call, FN__Fork, pid, CHILD_FORK);
	}
	return pid;
}

WRAPPER(pid_t, forkpty,
	(int *t_fd, char *t_name, const struct termios *t_termios, const struct winsize *t_window))
{
	struct call call;
	if (!call_begin(&call, FN_forkpty))
		return REAL(forkpty)(t_fd, t_name, t_termios, t_window);
	session_before_fork();
	pid_t pid = REAL(forkpty)(t_fd, t_name, t_termios, t_window);
	if (pid == 0)
		return 0;
	thread_forked(&thread_self);
	end_fork(&call, FN_forkpty, pid, CHILD_FORK);
	return pid;
}

/* The parent ends inside daemon(), by an _exit() that no wrapper sees; the child returns. */
WRAPPER(int, daemon, (int t_keep_directory, int t_keep_output))
{
	struct call call;
	if (!call_begin(&call, FN_daemon))
		return REAL(daemon)(t_keep_directory, t_keep_output);
	child_record(0, CHILD_FORK, VERDICT_TRACED, NULL);
	session_before_fork();
	int result = REAL(daemon)(t_keep_directory, t_keep_output);
	if (result < 0)
		thread_forked(&thread_self);
	if (result < 0)
		osrt_end(&call, FN_daemon, FN_BITS(result), osrt_object(0, FN_ERRNO(result)));
	return result;
}

/* A clone without shared memory is a fork that calls a function. */
struct clone_start {
	libtrace_clone_fn function;
	void *argument;
};

static int clone_child(void *argument)
{
	struct clone_start start = *(struct clone_start *)argument;
	thread_left(&thread_self);
	session_child();
	child_begun();
	return start.function(start.argument);
}

/* Run a child on the memory of its parent, which waits, like a child of vfork. */
static int clone_vfork_child(void *argument)
{
	struct clone_start *start = argument;
	if (thread_self.lane)
		thread_vfork_child(&thread_self);
	return start->function(start->argument);
}

WRAPPER(int, clone,
	(libtrace_clone_fn t_function, void *t_stack, int t_flags, void *t_argument, ...))
{
	va_list list;
	va_start(list, t_argument);
	void *more[3];
	for (int i = 0; i < 3; i++)
		more[i] = va_arg(list, void *);
	va_end(list);
	struct clone_start start = {t_function, t_argument};
	bool waits =
		(t_flags & (CLONE_VM | CLONE_VFORK | CLONE_THREAD)) == (CLONE_VM | CLONE_VFORK);
	bool shares = t_flags & CLONE_VM && !waits;
	libtrace_clone_fn function = shares ? t_function : waits ? clone_vfork_child : clone_child;
	struct call call = {NULL, 0};
	bool begun = call_begin(&call, FN_clone);
	if (begun && waits)
		thread_self.lane->open.sp = 0; /* the child's calls are not inside this one */
	bool strays =
		shares && !(t_flags & (CLONE_SETTLS | CLONE_VFORK)) && session.state == SESSION_ON;
	uint32_t stray = thread_self.stray;
	if (strays)
		thread_share(&thread_self, 0);
	int pid = REAL(clone)(function, t_stack, t_flags, shares ? t_argument : (void *)&start,
		more[0], more[1], more[2]);
	if (waits)
		child_memory_give_all();
	if (strays)
		thread_self.stray = pid > 0 ? (uint32_t)pid : stray;
	if (strays && pid < 0 && !stray)
		thread_share_end(&thread_self);
	if (waits && thread_self.vfork_pid)
		thread_vfork_parent(&thread_self, 0);
	if (begun)
		osrt_end(&call, FN_clone, FN_BITS(pid), osrt_object(0, FN_ERRNO(pid)));
	if (pid > 0 && !(t_flags & CLONE_THREAD))
		child_record((unsigned long)pid, CHILD_CLONE, VERDICT_TRACED, NULL);
	return pid;
}

/* ---- shells: started within libc, with the environment as it is ---- */

#define SHELL "/bin/sh"

/* Record that a shell is about to be started. Under a filter that has not been noticed yet, its
 * file is not examined. Return true if the writer expects the shell from now on. */
static bool shell_record(enum child_how how)
{
	if (session.state == SESSION_NEW || session.state == SESSION_OFF || session.restricted)
		return false;
	enum child_verdict verdict = process_tree_has_new_filter()
		? VERDICT_TRACED
		: child_examine(SHELL, environ, CHILD_ENVIRONMENT_KEPT);
	child_record(0, how, verdict, SHELL);
	return verdict_concerns_tree(verdict);
}

/* Return true if system() has not started the shell. Its result is then that of a shell that is
 * missing, or -1, which also stands for a shell that somebody else has waited for. `error` is what
 * it has left in errno, 0 if nothing: EINTR if a handler has interrupted its wait. */
static bool system_failed(const char *command, int result, int error)
{
	if (!error || error == EINTR)
		return false;
	if (!command) /* it starts a shell, too, and returns whether that ended well */
		return !result;
	return result == -1 ? error != ECHILD : WIFEXITED(result) && WEXITSTATUS(result) == 127;
}

WRAPPER(int, system, (const char *t_command))
{
	struct call call = {NULL, 0};
	bool begun = call_begin(&call, FN_system), expected = shell_record(CHILD_SYSTEM);
	int before = errno;
	errno = 0;
	int result = REAL(system)(t_command), error = errno;
	if (!error)
		errno = before;
	if (begun)
		osrt_end(&call, FN_system, FN_BITS(result), osrt_object(0, FN_ERRNO(result)));
	if (expected && system_failed(t_command, result, error))
		child_start_failed(CHILD_SYSTEM);
	return result;
}

WRAPPER(FILE *, popen, (const char *t_command, const char *t_mode))
{
	struct call call = {NULL, 0};
	bool begun = call_begin(&call, FN_popen), expected = shell_record(CHILD_POPEN);
	FILE *result = REAL(popen)(t_command, t_mode);
	if (begun)
		osrt_end(&call, FN_popen, FN_BITS(result),
			osrt_object(FN_BITS(result ? result->_fileno : -1), FN_ERRNO(result)));
	if (expected && !result)
		child_start_failed(CHILD_POPEN);
	return result;
}

/* ---- waiting for children: the time and the status of their end ---- */

static pid_t wait_end(const struct call *call, unsigned fn, pid_t asked, pid_t pid, int status)
{
	if (call->t)
		osrt_end(call, fn, FN_BITS(pid), osrt_object(FN_BITS(asked), FN_ERRNO(pid)));
	if (pid > 0 && (WIFEXITED(status) || WIFSIGNALED(status)))
		child_waited((unsigned long)pid, status);
	return pid;
}

WRAPPER(pid_t, wait, (int *t_status))
{
	struct call call;
	int own = 0, *status = t_status ? t_status : &own;
	if (!call_begin(&call, FN_wait))
		call.t = NULL;
	pid_t pid = REAL(wait)(status);
	return wait_end(&call, FN_wait, 0, pid, pid > 0 ? *status : 0);
}

WRAPPER(pid_t, wait3, (int *t_status, int t_options, struct rusage *t_usage))
{
	struct call call;
	int own = 0, *status = t_status ? t_status : &own;
	if (!call_begin(&call, FN_wait3))
		call.t = NULL;
	pid_t pid = REAL(wait3)(status, t_options, t_usage);
	return wait_end(&call, FN_wait3, 0, pid, pid > 0 ? *status : 0);
}

WRAPPER(pid_t, wait4, (pid_t t_pid, int *t_status, int t_options, struct rusage *t_usage))
{
	struct call call;
	int own = 0, *status = t_status ? t_status : &own;
	if (!call_begin(&call, FN_wait4))
		call.t = NULL;
	pid_t pid = REAL(wait4)(t_pid, status, t_options, t_usage);
	return wait_end(&call, FN_wait4, t_pid, pid, pid > 0 ? *status : 0);
}

WRAPPER(pid_t, waitpid, (pid_t t_pid, int *t_status, int t_options))
{
	struct call call;
	int own = 0, *status = t_status ? t_status : &own;
	if (!call_begin(&call, FN_waitpid))
		call.t = NULL;
	pid_t pid = REAL(waitpid)(t_pid, status, t_options);
	return wait_end(&call, FN_waitpid, t_pid, pid, pid > 0 ? *status : 0);
}

/* Return the status that waitpid() would have; -1 for a child that has not ended. */
static int status_of(const siginfo_t *info)
{
	switch (info->si_code) {
	case CLD_EXITED:
		return (info->si_status & 0xff) << 8;
	case CLD_KILLED:
		return info->si_status & 0x7f;
	case CLD_DUMPED:
		return (info->si_status & 0x7f) | 0x80;
	default:
		return -1;
	}
}

WRAPPER(int, waitid, (idtype_t t_type, id_t t_pid, siginfo_t *t_info, int t_options))
{
	struct call call;
	if (!call_begin(&call, FN_waitid))
		call.t = NULL;
	int result = REAL(waitid)(t_type, t_pid, t_info, t_options);
	if (call.t)
		osrt_end(&call, FN_waitid, FN_BITS(result),
			osrt_object(FN_BITS(t_pid), FN_ERRNO(result)));
	if (result == 0 && t_info && t_info->si_pid > 0 && status_of(t_info) >= 0)
		child_waited((unsigned long)t_info->si_pid, status_of(t_info));
	return result;
}

/* ---- ends: functions that do not return ---- */

FORKED_TEXT WRAPPER(void, _exit, (int t_status))
{
	session_end(t_status);
	REAL(_exit)(t_status);
	__builtin_unreachable();
}

FORKED_TEXT WRAPPER(void, _Exit, (int t_status))
{
	session_end(t_status);
	REAL(_Exit)(t_status);
	__builtin_unreachable();
}

WRAPPER(void, quick_exit, (int t_status))
{
	session_end(t_status);
	REAL(quick_exit)(t_status);
	__builtin_unreachable();
}

/* ---- vfork: entry.S calls these around the system call ---- */

/* Called before vfork: a child that attached for its parent would store a wrong tid. Return the
 * time of the start; only while tracing, since a program may forbid rdtsc. */
__attribute__((visibility("hidden"))) uint64_t vfork_before(void);
uint64_t vfork_before(void)
{
	if (session.state == SESSION_NEW)
		preload_early();
	if (!gate_is_open())
		return 0;
	if (!thread_self.lane)
		thread_attach(&thread_self);
	return clock_is_tsc ? clock_ticks() : 0;
}

/* Called in the child, on the parent's memory: its calls are recorded under its own pid. */
__attribute__((visibility("hidden"))) void vfork_child(void)
{
	struct thread *t = &thread_self;
	if (t->lane)
		thread_vfork_child(t);
}

/* Called in the parent, once the child has executed a program or ended. */
__attribute__((visibility("hidden"))) void vfork_parent(long pid, uint64_t tick)
{
	struct thread *t = &thread_self;
	child_memory_give_all();
	if (t->vfork_pid)
		thread_vfork_parent(t,
			(uint64_t)(uintptr_t)MACHINE_FRAME() +
				32 /* the frame of vfork's caller */);
	if (pid > 0)
		child_record((unsigned long)pid, CHILD_VFORK, VERDICT_TRACED, NULL);
	if (!gate_is_open() || !t->lane)
		return;
	uint64_t ticks = clock_is_tsc && tick ? clock_ticks() - tick : 0;
	if (!ticks)
		tick = clock_ticks();
	osrt_put(t, tick, ticks << RECORD_LENGTH_SHIFT | FN_vfork, FN_BITS(pid > 0 ? pid : -1),
		osrt_object(FN_BITS(pid > 0 ? pid : 0), pid > 0 ? 0 : (int)-pid));
}

/* ---- raw system calls and process control ---- */

/* Make the system calls that return once and share nothing; entry.S jumps here. */
__attribute__((visibility("hidden"))) long syscall_traced(
	long number, long a, long b, long c, long d, long e, long f)
{
	struct call call = {NULL, 0};
	relocate_check();
	if (number == SYS_exit_group)
		session_end((int)a);
	bool restricted = session.restricted;
	if (number == SYS_seccomp &&
		(a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER)) {
		cpu_switch_off(CPU_OFF_FILTER);
		session_restrict();
	}
	if (number == SYS_execve || number == SYS_execveat)
		session_exec();
	bool begun = call_begin(&call, FN_syscall);
	long result = REAL(syscall)(number, a, b, c, d, e, f);
	if (number == SYS_execve || number == SYS_execveat)
		session_exec_failed();
	if (result != 0)
		session.restricted = restricted;
	if (!begun)
		return result;
	osrt_end(&call, FN_syscall, FN_BITS(result),
		osrt_object((uint64_t)number, FN_ERRNO(result)));
	return result;
}

/* Fork by syscall(): the child has a stack and memory of its own, so it may return through this
 * function. It must not write to its parent's lanes. */
__attribute__((visibility("hidden"))) long syscall_forking(
	long number, long a, long b, long c, long d, long e, long f)
{
	struct call call = {NULL, 0};
	relocate_check();
	bool begun = call_begin(&call, FN_syscall);
	long result = REAL(syscall)(number, a, b, c, d, e, f);
	if (result == 0) {
		session_child();
		child_begun();
		return 0;
	}
	if (!begun)
		return result;
	osrt_end(&call, FN_syscall, FN_BITS(result),
		osrt_object((uint64_t)number, FN_ERRNO(result)));
	if (result > 0)
		child_record((unsigned long)result, CHILD_FORK, VERDICT_TRACED, NULL);
	return result;
}

/* Prepare for a system call filter, which may kill the process for calls that the program does not
 * make itself. Strict mode, like PR_SET_TSC, also makes reading the tick counter fail. */
static void before_prctl(int option, unsigned long value)
{
	if (option == PR_SET_TSC && value == PR_TSC_SIGSEGV)
		gate_shut("the program disables reading of the time stamp counter (prctl "
			  "PR_SET_TSC)");
	if (option == PR_SET_SECCOMP && value == SECCOMP_MODE_STRICT)
		gate_shut("the program permits only four system calls (strict seccomp mode), which "
			  "disables reading of the time stamp counter");
	if (option == PR_SET_SECCOMP) {
		cpu_switch_off(CPU_OFF_FILTER);
		session_restrict();
	}
}

WRAPPER(int, prctl, (int t_option, ...))
{
	struct call call = {NULL, 0};
	relocate_check();
	va_list list;
	unsigned long word[4];
	va_start(list, t_option);
	for (int i = 0; i < 4; i++)
		word[i] = va_arg(list, unsigned long);
	va_end(list);
	bool restricted = session.restricted;
	before_prctl(t_option, word[0]);
	if (!call_begin(&call, FN_prctl))
		call.t = NULL;
	int result = REAL(prctl)(t_option, word[0], word[1], word[2], word[3]);
	if (result != 0)
		session.restricted = restricted;
	if (!call.t)
		return result;
	osrt_end(&call, FN_prctl, FN_BITS(result),
		osrt_object((unsigned)t_option, FN_ERRNO(result)));
	if (t_option == PR_SET_NAME && result == 0)
		thread_renamed(&thread_self, (const char *)word[0]);
	return result;
}

WRAPPER(int, arch_prctl, (int t_option, unsigned long t_address))
{
	struct call call;
	if (t_option == 0x1002 /* ARCH_SET_FS: another thread's data from now on */)
		return REAL(arch_prctl)(t_option, t_address);
	if (!call_begin(&call, FN_arch_prctl))
		return REAL(arch_prctl)(t_option, t_address);
	int result = REAL(arch_prctl)(t_option, t_address);
	osrt_end(&call, FN_arch_prctl, FN_BITS(result),
		osrt_object((unsigned)t_option, FN_ERRNO(result)));
	return result;
}

WRAPPER(long, ptrace, (enum __ptrace_request t_request, ...))
{
	struct call call;
	va_list list;
	va_start(list, t_request);
	pid_t pid = va_arg(list, pid_t);
	void *address = va_arg(list, void *);
	void *data = va_arg(list, void *);
	va_end(list);
	if (!call_begin(&call, FN_ptrace))
		return REAL(ptrace)(t_request, pid, address, data);
	int before = errno;
	long result = REAL(ptrace)(t_request, pid, address, data);
	osrt_end(&call, FN_ptrace, FN_BITS(result),
		osrt_object(FN_BITS(pid), result == -1 && errno != before ? errno : 0));
	return result;
}

/* mlockall() also locks the tracer's memory, unless that is unlocked again. */
WRAPPER(int, mlockall, (int t_flags))
{
	struct call call;
	bool begun = call_begin(&call, FN_mlockall);
	int result = REAL(mlockall)(t_flags);
	if (begun)
		osrt_end(&call, FN_mlockall, FN_BITS(result), osrt_object(0, FN_ERRNO(result)));
	if (result == 0)
		session_unlock_memory();
	return result;
}
