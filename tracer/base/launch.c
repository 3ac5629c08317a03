/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - tasks on stacks of their own, and the start of the writer by two generations of them.
 */
#define _GNU_SOURCE
#include "tracer/base/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <sys/wait.h>

#include "common/sys.h"
#include "common/tree.h"
#include "machine/machine.h"

/* Call clone(2); the new task calls run() and ends. glibc's clone() is not used: before 2.25, it
 * ends the whole process when a task with CLONE_THREAD returns, and sets the caller's own cached
 * pid and tid to -1 for a task with CLONE_VM, so that a later abort() or raise() fails. */
static __attribute__((noinline)) int task_clone(
	int (*run)(void *), void *stack, int flags, void *argument)
{
	const struct machine_task_calls calls = {SYS_clone, SYS_exit};
	return (int)machine_clone(calls, run, stack, flags, argument);
}

int (*launch_clone)(int (*)(void *), void *, int, void *) = task_clone;

/* CLONE_UNTRACED: a debugger that follows the program's children does not get the writer, which the
 * program did not create, and which the debugger may kill when it ends (PTRACE_O_EXITKILL). */
#define LAUNCH_FLAGS (CLONE_VM | CLONE_VFORK | CLONE_UNTRACED)

struct launch {
	const char *const *argv;
	int lock_fd;
	volatile int error; /* the grandchild's errno; the memory is shared until it executes */
	char *stacks;       /* the stacks of both tasks */
};

#define STACK_BYTES UINT64_C(16384)

static void exit_raw(int status)
{
	for (;;)
		SYS1(SYS_exit_group, status);
}

/* Become the writer, in the new task. Signals have been blocked since before the clone. */
static int run_writer(void *argument)
{
	struct launch *launch = argument;
	static const char *const no_environment[] = {NULL};
	SYS0(SYS_setsid);
	if (launch->lock_fd == TREE_WRITER_LOCK_FD)
		SYS3(SYS_fcntl, launch->lock_fd, F_SETFD, 0);
	else
		SYS3(SYS_dup3, launch->lock_fd, TREE_WRITER_LOCK_FD, 0);
	SYS3(SYS_close_range, TREE_WRITER_LOCK_FD + 1, ~0u, 0);
	sys_signals_set(0);
	launch->error = (int)SYS3(SYS_execve, launch->argv[0], launch->argv, no_environment);
	exit_raw(127);
	return 0;
}

static int run_middle(void *argument)
{
	struct launch *launch = argument;
	int pid = launch_clone(run_writer, launch->stacks + 2 * STACK_BYTES, LAUNCH_FLAGS, launch);
	if (pid < 0)
		launch->error = -EAGAIN;
	exit_raw(0);
	return 0;
}

int launch_writer(const char *program, const char *tree, int lock_fd)
{
	const char *argv[] = {program, "--tree", tree, NULL};
	struct launch launch = {argv, lock_fd, 0, sys_mmap_private(2 * STACK_BYTES)};
	uint64_t old_signals;
	int before =
		errno; /* clone() may fail, also in the middle task, which runs on our memory */
	if (!launch.stacks)
		return -ENOMEM;
	old_signals = sys_signals_block();
	/* No exit signal: the program's wait() does not see this child; only __WCLONE does. */
	int pid = launch_clone(run_middle, launch.stacks + STACK_BYTES, LAUNCH_FLAGS, &launch);
	if (pid > 0)
		while (SYS4(SYS_wait4, pid, NULL, __WCLONE, NULL) == -EINTR)
			;
	sys_signals_set(old_signals);
	errno = before;
	sys_munmap(launch.stacks, 2 * STACK_BYTES);
	return pid < 0 ? -EAGAIN : launch.error;
}
