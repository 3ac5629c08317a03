/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_tls.c - two tasks run at the same time on one thread's memory: clone(CLONE_VM) without
 * CLONE_SETTLS or CLONE_VFORK.
 *
 * Neither task may be harmed, and the report must state which calls it lacks or contains twice.
 *
 * shared_tls wrapped|thread|bare|child|child_of_task|child_beside
 *
 * child: the thread is that of a new process, forked by an instruction, in which no call has been
 * made yet: the other task calls first, or, with child_beside, at the same time. child_of_task: the
 * other task is created by a task of that kind, which makes no call.
 */
#include "app.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define ROUNDS 30
#define CALLS 5000
#define AFTER 100 /* calls of the remaining task */
#define STACK_BYTES 65536

static uint64_t *calls; /* of all processes */
static volatile int ended, wrong;
static int zero_fd;
static char *inner_stack; /* not NULL: for the task that makes the calls */

/* Both tasks share errno: only the result counts. */
static void preads(int count)
{
	char byte;
	for (int i = 0; i < count; i++) {
		if (pread(zero_fd, &byte, 1, 0) != 1)
			wrong = 1;
		__atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
	}
}

static void leave(void)
{
	__atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
	for (;;)
		__asm__ volatile("syscall"
				 :
				 : "a"((long)SYS_exit), "D"(0L)
				 : "rcx", "r11", "memory");
}

static int other(void *unused)
{
	(void)unused;
	preads(CALLS);
	leave();
	return 0;
}

static void other_in_task(void);

__attribute__((used)) static void other_bare(void)
{
	if (inner_stack)
		other_in_task();
	else
		preads(CALLS);
	leave();
}

/* clone() by the bare instruction: the child has a stack of its own, and never returns. */
static long bare_clone(long flags, char *top)
{
	long result;
	register long d __asm__("r10") = 0;
	register long e __asm__("r8") = 0;
	__asm__ volatile("syscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\txor %%ebp, %%ebp\n\t"
			 "call other_bare\n1:"
			 : "=a"(result)
			 : "a"((long)SYS_clone), "D"(flags), "S"(top), "d"(0L), "r"(d), "r"(e)
			 : "rcx", "r11", "memory");
	return result;
}

static long bare(long number, long a, long b)
{
	long result;
	register long c __asm__("r10") = 0;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(0L), "r"(c)
			 : "rcx", "r11", "memory");
	return result;
}

static void other_in_task(void)
{
	char *stack = inner_stack;
	int status = 0;
	inner_stack = NULL;
	long task = bare_clone(CLONE_VM | SIGCHLD, stack);
	if (bare(SYS_wait4, task, (long)&status) != task || status)
		wrong = 1;
}

static void one_child(bool beside, char *stack)
{
	int status = 0;
	long pid = bare(SYS_fork, 0, 0);
	if (pid == 0) {
		long task = bare_clone(CLONE_VM | SIGCHLD, stack + STACK_BYTES - 64);
		if (beside)
			preads(CALLS);
		bool ran = bare(SYS_wait4, task, (long)&status) == task && !status;
		preads(AFTER);
		bare(SYS_exit_group, ran && ended && !wrong ? 0 : 3, 0);
	}
	require(bare(SYS_wait4, pid, (long)&status) == pid && !status, "the child's status");
}

static void one_round(const char *how, char *stack)
{
	if (!strncmp(how, "child", 5)) {
		inner_stack = !strcmp(how, "child_of_task") ? stack + STACK_BYTES / 2 : NULL;
		one_child(!strcmp(how, "child_beside"), stack);
		return;
	}
	long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND, pid;
	bool is_thread = !strcmp(how, "thread");
	int status = 0;
	char *top = stack + STACK_BYTES - 64;
	ended = 0;
	if (!strcmp(how, "bare"))
		pid = bare_clone(flags | SIGCHLD, top);
	else
		pid = clone(other, top, (int)(flags | (is_thread ? CLONE_THREAD : SIGCHLD)), NULL);
	require(pid > 0, "clone");
	preads(CALLS);
	while (is_thread && pid > 0 && syscall(SYS_tgkill, syscall(SYS_getpid), pid, 0) == 0)
		app_sleep_ms(1);
	if (!is_thread)
		require(syscall(SYS_wait4, pid, &status, __WALL, NULL) == pid && !status,
			"the other task's status");
	require(ended, "the other task's end");
	preads(AFTER);
}

int main(int argc, char **argv)
{
	char *stack =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	calls = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	zero_fd = open("/dev/zero", O_RDONLY);
	for (int i = 0; i < ROUNDS; i++)
		one_round(argc > 1 ? argv[1] : "wrapped", stack);
	check(!wrong, "each call returned what it should");
	if (app_facts())
		say("facts: pread %llu", (unsigned long long)*calls);
	say("expect-after %d", ROUNDS * AFTER);
	return app_result();
}
