/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user_namespace.c - calls unshare(CLONE_NEWUSER), which the kernel allows only for a
 * single-threaded process.
 *
 * Tracing must add no thread to the process, so that unshare and setns work as without the tracer.
 * Calls, threads and forks after it must work, although the user and their rights on the spool's
 * directory have changed.
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

static void work(int calls)
{
	char byte;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < calls; i++)
		require(pread(fd, &byte, 1, 0) == 1, "pread");
	close(fd);
}

static void *thread_main(void *unused)
{
	work(3);
	return unused;
}

int main(void)
{
	pthread_t thread;
	int status = 1;
	work(3);
	if (unshare(CLONE_NEWUSER)) {
		check(errno == EPERM || errno == ENOSPC,
			"unshare(CLONE_NEWUSER) is refused only by policy");
		say("expect 3 pread");
		return app_result();
	}
	check(1, "unshare(CLONE_NEWUSER)");
	work(3);
	check(!unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC), "unshare of further namespaces");
	pid_t pid = fork();
	if (!pid) {
		work(3);
		_exit(5);
	}
	check(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5, "fork");
	check(!pthread_create(&thread, NULL, thread_main, NULL) && !pthread_join(thread, NULL),
		"thread");
	say("expect 12 pread");
	return app_result();
}
