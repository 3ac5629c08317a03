/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -latfork
/*
 * atfork_first.c - forks while a library's handlers, registered before the tracer's constructor
 * ran, make wrapped calls before the fork and on both sides of it, and start a thread in the child.
 *
 * The parent's records must contain no event of the child. The report must contain the calls of
 * both sides, and nothing may crash.
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

#define CHILDREN 12
#define CALLS 3000

extern int atfork_thread_calls;
void atfork_join(void);
static int zero_fd;

static void *work(void *unused)
{
	char byte;
	for (int i = 0; i < CALLS; i++)
		require(pread(zero_fd, &byte, 1, 0) == 1, "pread");
	return unused;
}

static void child(void)
{
	work(NULL);
	atfork_join();
	_exit(atfork_thread_calls == 4000 ? 5 : 6);
}

int main(void)
{
	zero_fd = open("/dev/zero", O_RDONLY);
	for (int i = 0; i < CHILDREN; i++) {
		pthread_t thread;
		int status = 0;
		pthread_create(&thread, NULL, work, NULL);
		pid_t pid = fork();
		if (!pid)
			child();
		work(NULL);
		pthread_join(thread, NULL);
		require(waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
				WEXITSTATUS(status) == 5,
			"a child's status");
	}
	check(1, "children whose handlers work before anybody");
	say("expect %d pread", CHILDREN * (3 * CALLS + 3 + 200 + 200 + 4000));
	return app_result();
}
