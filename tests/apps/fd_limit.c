/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd_limit.c - reaches RLIMIT_NOFILE and continues.
 *
 * With no descriptor left the program must get its own EMFILE and nothing else. Calls, threads and
 * forks in that state must work and be traced or counted as missing.
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define CALLS 10
static int zero_fd;

static void work(void)
{
	char byte;
	for (int i = 0; i < CALLS; i++)
		require(pread(zero_fd, &byte, 1, 0) == 1, "pread");
}

static void *thread_main(void *unused)
{
	work();
	return unused;
}

int main(void)
{
	struct rlimit limit = {64, 64};
	pthread_t thread;
	int opened = 0, before = 0, status = 0;
	zero_fd = open("/dev/zero", O_RDONLY);
	check(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
	for (int fd = 0; fd < 64; fd++)
		before += fcntl(fd, F_GETFD) != -1;
	while (open("/dev/null", O_RDONLY) >= 0)
		opened++;
	check(errno == EMFILE && opened == 64 - before, "every number below 64, then EMFILE");
	work();
	check(!pthread_create(&thread, NULL, thread_main, NULL) && !pthread_join(thread, NULL),
		"a thread at the limit");
	pid_t pid = fork();
	if (!pid) {
		work();
		_exit(errno == EMFILE ? 5 : 6);
	}
	check(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5, "a fork at the limit");
	say("expect-at-most %d pread", CALLS * 3);
	return app_result();
}
