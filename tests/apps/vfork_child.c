/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vfork_child.c - vfork children of several threads that make wrapped calls, a failing exec, and an
 * exec, as children of careful programs do.
 *
 * The child, which runs in its parent's memory, must not corrupt its parent's records; the calls
 * of both sides must be in the report.
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#define THREADS 3
#define ROUNDS 15
#define CALLS 4
static int zero_fd;

static void work(void)
{
	char byte;
	for (int i = 0; i < CALLS; i++)
		if (pread(zero_fd, &byte, 1, 0) != 1)
			_exit(90);
}

static __attribute__((noinline)) pid_t one_child(int n)
{
	pid_t pid = vfork();
	if (pid)
		return pid;
	work();
	int fd = open("/dev/null", O_RDWR);
	dup2(fd, 77 + n % 3);
	close(fd);
	if (n % 3 == 0)
		_exit(5);
	if (n % 3 == 1)
		execl("/nonexistent/program", "none", NULL);
	execl("/bin/sh", "sh", "-c", "exit 5", NULL);
	_exit(91);
}

static void *run(void *unused)
{
	for (int n = 0; n < ROUNDS; n++) {
		int status = 0;
		work();
		pid_t pid = one_child(n);
		work();
		require(waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
				WEXITSTATUS(status) == 5,
			"the child's status");
	}
	return unused;
}

int main(void)
{
	pthread_t thread[THREADS];
	zero_fd = open("/dev/zero", O_RDONLY);
	run(NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, run, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	check(1, "vfork children of four threads");
	say("expect %d pread", (THREADS + 1) * ROUNDS * CALLS * 3);
	return app_result();
}
