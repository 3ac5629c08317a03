/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coroutines.c - swaps stacks with ucontext between wrapped calls, and leaves one of them by a
 * signal handler.
 *
 * Calls from several stacks of one thread must all be recorded, in order. Leaving a waiting call
 * by swapcontext in a handler, and returning to it later, must work as it does without the tracer.
 */
#include "app.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

#define CORO 4
#define ROUNDS 50
static ucontext_t main_context, context[CORO];
static char stacks[CORO][65536];
static int zero_fd, pipe_fd[2], finished;

static void one_pread(void)
{
	char byte;
	require(pread(zero_fd, &byte, 1, 0) == 1, "pread");
}

static void body(int n)
{
	for (int i = 0; i < ROUNDS; i++) {
		one_pread();
		swapcontext(&context[n], &main_context);
		one_pread();
	}
	finished++;
}

static void on_alarm(int signal)
{
	(void)signal;
	swapcontext(&context[0], &main_context); /* leave the waiting read for a while */
}

static void waiting_body(void)
{
	struct itimerval soon = {.it_value = {0, 5000}};
	char byte = 0;
	setitimer(ITIMER_REAL, &soon, NULL);
	check(read(pipe_fd[0], &byte, 1) == 1 && byte == 'x', "the read that was left continues");
	finished++;
}

static void make(int n, void (*function)(void), int argument)
{
	getcontext(&context[n]);
	context[n].uc_stack.ss_sp = stacks[n];
	context[n].uc_stack.ss_size = sizeof(stacks[n]);
	context[n].uc_link = &main_context;
	makecontext(&context[n], function, 1, argument);
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	zero_fd = open("/dev/zero", O_RDONLY);
	if (pipe(pipe_fd))
		return 1;
	for (int n = 0; n < CORO; n++)
		make(n, (void (*)(void))body, n);
	while (finished < CORO)
		for (int n = 0; n < CORO; n++)
			if (context[n].uc_link)
				swapcontext(&main_context, &context[n]);
	check(1, "four coroutines have ended");
	finished = 0;
	sigaction(SIGALRM, &action, NULL);
	make(0, waiting_body, 0);
	swapcontext(&main_context, &context[0]);
	one_pread();
	require(write(pipe_fd[1], "x", 1) == 1, "write");
	swapcontext(&main_context, &context[0]);
	check(finished == 1, "the coroutine that waited ended");
	say("expect %d pread", CORO * ROUNDS * 2 + 1);
	return app_result();
}
