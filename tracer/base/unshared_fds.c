/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unshared_fds.c - a task with a descriptor table of its own, for work that needs a descriptor
 * for a moment.
 */
#define _GNU_SOURCE
#include "tracer/base/unshared_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>

#include "common/sys.h"
#include "machine/machine.h"
#include "tracer/base/launch.h"

#define STACK_BYTES UINT64_C(16384)
#define GONE_ROUNDS 10000

/*
 * A thread: nobody waits for it, and it is nobody's child. The kernel refuses it if children would
 * get another pid namespace. No debugger follows it. The caller waits in clone() (CLONE_VFORK), so
 * the task may use its thread pointer.
 */
#define TASK_FLAGS                                                                        \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_VFORK | \
		CLONE_SYSVSEM | CLONE_UNTRACED)

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2u
#endif

struct task {
	void (*work)(void *);
	void *argument;
	int tid;
	bool done;
};

/* Switch to a private table: an empty one, or a copy before Linux 5.9. No file of the program is
 * closed in its own table. */
static bool leave_table(void)
{
	return SYS3(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) == 0 ||
		SYS1(SYS_unshare, CLONE_FILES) == 0;
}

static int run(void *argument)
{
	struct task *task = argument;
	task->tid = sys_gettid();
	if (leave_table()) {
		task->work(task->argument);
		task->done = true;
	}
	return 0;
}

/* Wait until the task is gone. clone() returns a little before, and some calls of the program
 * fail in a process with two tasks. */
static void wait_until_gone(const struct task *task)
{
	int pid = sys_getpid();
	for (int i = 0; i < GONE_ROUNDS && SYS3(SYS_tgkill, pid, task->tid, 0) == 0; i++)
		SYS0(SYS_sched_yield);
}

bool unshared_fds_run(void (*work)(void *argument), void *argument)
{
	struct task task = {work, argument, 0, false};
	uint64_t old_signals;
	/* Valgrind ends a program that creates such a task. */
	char *stack = launch_clone && !machine_on_valgrind() ? sys_mmap_private(STACK_BYTES) : NULL;
	if (!stack)
		return false;
	int before = errno; /* clone() may fail */
	old_signals = sys_signals_block();
	if (launch_clone(run, stack + STACK_BYTES, TASK_FLAGS, &task) > 0)
		wait_until_gone(&task);
	sys_signals_set(old_signals);
	errno = before;
	sys_munmap(stack, STACK_BYTES);
	return task.done;
}
