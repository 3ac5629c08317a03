/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_limit.c - runs under a small RLIMIT_FSIZE.
 *
 * SIGXFSZ must be sent for the program's own writes only, never for the tracer's. Exactly one must
 * arrive, at the program's own write past the limit. Threads and forks under the limit must work.
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define CALLS 3000 /* more than a lane's first chunk holds, so that the tracer needs more room */
static int zero_fd;
static volatile sig_atomic_t signals;

static void on_xfsz(int signal)
{
	(void)signal;
	signals++;
}

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
	struct rlimit limit = {4096, 4096};
	struct sigaction action = {.sa_handler = on_xfsz};
	static char block[8192];
	pthread_t thread[2];
	int status = 0;
	zero_fd = open("/dev/zero", O_RDONLY);
	sigaction(SIGXFSZ, &action, NULL);
	check(!setrlimit(RLIMIT_FSIZE, &limit), "setrlimit");
	work();
	for (int i = 0; i < 2; i++)
		require(!pthread_create(&thread[i], NULL, thread_main, NULL), "pthread_create");
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	pid_t pid = fork();
	if (!pid) {
		work();
		_exit(signals ? 6 : 5);
	}
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 5,
		"a forked child gets no SIGXFSZ");
	check(signals == 0, "no SIGXFSZ arrives before the program's own write");
	int fd = memfd_create("file", MFD_CLOEXEC);
	check(write(fd, block, 8192) == 4096, "a write is cut at the limit");
	check(write(fd, block, 8192) == -1 && errno == EFBIG && signals == 1,
		"the next write fails with EFBIG and one SIGXFSZ");
	say("expect-at-most %d pread", CALLS * 4);
	return app_result();
}
