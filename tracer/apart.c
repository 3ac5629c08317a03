/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tracer/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>

#include "common/sys.h"
#include "tracer/valgrind.h"

/* As in launch.c. */
extern int (*launch_clone)(int (*)(void *), void *, int, void *, ...);

#define STACK_BYTES UINT64_C(16384)
#define GONE_ROUNDS 10000

/*
 * A thread, so nobody waits for it and there is no question whose child it is, also where children
 * would get another pid namespace (the kernel refuses it then). No debugger follows it. We wait in
 * the clone, so it may use our thread pointer.
 */
#define APART_FLAGS                                                                       \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_VFORK | \
		CLONE_SYSVSEM | CLONE_UNTRACED)

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2u
#endif

struct apart {
	void (*work)(void *);
	void *argument;
	int tid;
	bool done;
};

/* An empty table costs nothing to make, and none of the program's files is closed twice. */
static bool leave_table(void)
{
	return SYS3(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) == 0 ||
		SYS1(SYS_unshare, CLONE_FILES) == 0;
}

static int run(void *argument)
{
	struct apart *apart = argument;
	apart->tid = sys_gettid();
	if (leave_table()) {
		apart->work(apart->argument);
		apart->done = true;
	}
	return 0;
}

/* The kernel lets us go on a little before the task is gone, and some calls of the program fail in
 * a process with two. */
static void wait_until_gone(const struct apart *apart)
{
	int pid = sys_getpid();
	for (int i = 0; i < GONE_ROUNDS && SYS3(SYS_tgkill, pid, apart->tid, 0) == 0; i++)
		SYS0(SYS_sched_yield);
}

bool apart_run(void (*work)(void *argument), void *argument)
{
	struct apart apart = {work, argument, 0, false};
	uint64_t all_signals = ~UINT64_C(0), old_signals;
	/* Valgrind ends a program that makes such a task. */
	char *stack = launch_clone && !runs_on_valgrind() ? sys_mmap_private(STACK_BYTES) : NULL;
	if (!stack)
		return false;
	int before = errno; /* clone() may fail */
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &all_signals, &old_signals, sizeof(all_signals));
	if (launch_clone(run, stack + STACK_BYTES, APART_FLAGS, &apart) > 0)
		wait_until_gone(&apart);
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &old_signals, NULL, sizeof(old_signals));
	errno = before;
	sys_munmap(stack, STACK_BYTES);
	return apart.done;
}
