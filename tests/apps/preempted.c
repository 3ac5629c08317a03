/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preempted.c - user threads that a timer's handler switches by swapcontext(), wherever they are.
 *
 * Whatever is interrupted, in a call or within the tracer, must continue later as without the
 * tracer; each call must be in the report once, or counted as missing.
 *
 *     preempted [CONTEXTS]
 */
#include "app.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>
#include <ucontext.h>

#define MOST 16
#define STACK_BYTES 65536
#define CALLS 30000 /* calls of each context */

static ucontext_t context[MOST];
static char stacks[MOST][STACK_BYTES] __attribute__((aligned(4096)));
static volatile int current, count = 8, finished, switches, wrong;
static volatile int is_done[MOST];
static uint64_t calls[2];
static int zero_fd;

/* Context 0 is the program's own stack. */
static void next(void)
{
	int self = current, to = self;
	do
		to = (to + 1) % count;
	while (is_done[to] && to != self);
	if (to == self)
		return;
	current = to;
	switches++;
	swapcontext(&context[self], &context[to]);
}

static void on_alarm(int signal)
{
	int error = errno;
	(void)signal;
	next();
	errno = error;
}

static void work(void)
{
	char byte;
	for (int i = 0; i < CALLS; i++) {
		if (pread(zero_fd, &byte, 1, 0) != 1)
			wrong = 1;
		__atomic_fetch_add(&calls[0], 1, __ATOMIC_RELAXED);
		if (i % 4)
			continue;
		sched_yield();
		__atomic_fetch_add(&calls[1], 1, __ATOMIC_RELAXED);
	}
}

static void block(int how)
{
	uint64_t alarm = UINT64_C(1) << (SIGALRM - 1);
	syscall(SYS_rt_sigprocmask, how, &alarm, NULL, sizeof(alarm));
}

/* A context begins with the signal blocked, as at every switch of contexts. */
static void body(void)
{
	block(SIG_UNBLOCK);
	work();
	block(SIG_BLOCK);
	is_done[current] = 1;
	finished++;
	for (;;)
		next();
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval fast = {{0, 90}, {0, 90}}, off = {{0, 0}, {0, 0}};
	if (argc > 1)
		count = atoi(argv[1]);
	if (count < 2 || count > MOST)
		return 2;
	zero_fd = open("/dev/zero", O_RDONLY);
	block(SIG_BLOCK);
	for (int n = 1; n < count; n++) {
		getcontext(&context[n]);
		context[n].uc_stack.ss_sp = stacks[n];
		context[n].uc_stack.ss_size = STACK_BYTES;
		makecontext(&context[n], body, 0);
	}
	sigaction(SIGALRM, &action, NULL);
	block(SIG_UNBLOCK);
	syscall(SYS_setitimer, ITIMER_REAL, &fast, NULL);
	work();
	while (finished < count - 1)
		__asm__ volatile("pause");
	syscall(SYS_setitimer, ITIMER_REAL, &off, NULL);
	check(!wrong, "each call returned what it should");
	check(switches >= count, "contexts were switched");
	if (app_facts())
		say("facts: pread %llu sched_yield %llu", (unsigned long long)calls[0],
			(unsigned long long)calls[1]);
	return app_result();
}
