/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handler_left.c - a handler interrupts a wrapped call, and a call that it makes itself does not
 * return: the exec of a vfork child, a read that a second handler leaves by siglongjmp.
 *
 * The interrupted call must continue, and must be in the report once.
 */
#include "app.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>

#define MANY 3000 /* more calls than the writer looks back for one that ended */
static sigjmp_buf inside;

static void vfork_and_exec(int number)
{
	char *arguments[] = {(char *)"true", NULL};
	(void)number;
	pid_t pid = vfork();
	if (pid == 0) {
		execve("/bin/true", arguments, environ);
		_exit(1);
	}
	require(waitpid(pid, NULL, 0) == pid, "waitpid");
}

static void leave(int number)
{
	(void)number;
	siglongjmp(inside, 1);
}

/* Stay in this handler, but leave its own pthread_kill. */
static void call_and_leave(int number)
{
	(void)number;
	if (!sigsetjmp(inside, 1))
		pthread_kill(pthread_self(), SIGALRM);
	sched_yield();
}

int main(void)
{
	signal(SIGUSR1, vfork_and_exec);
	signal(SIGUSR2, call_and_leave);
	signal(SIGALRM, leave);
	check(!kill(getpid(), SIGUSR1), "a vfork child of a handler executes");
	check(!kill(getpid(), SIGUSR2), "a call of a handler is left");
	for (int i = 0; i < MANY; i++)
		sched_yield();
	say("expect 2 kill");
	say("expect 1 pthread_kill");
	say("expect %d sched_yield", MANY + 1);
	say("expect-abandoned 1 pthread_kill");
	return app_result();
}
