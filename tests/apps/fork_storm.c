/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork_storm.c - hundreds of short children from several threads, some of which fork again, some
 * exec, while handlers and locks are busy.
 *
 * No child may hang, every status must arrive, and every child's calls must be in the report.
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

#define THREADS 3
#define CHILDREN 40
#define CALLS 3
static int null_fd;
static char self[4096];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void work(void)
{
	for (int i = 0; i < CALLS; i++)
		if (pwrite(null_fd, "x", 1, 0) != 1)
			_exit(9);
}

static void child(int n)
{
	work();
	if (n % 4 == 1) {
		int status = 0;
		pid_t pid = fork();
		if (!pid) {
			work();
			_exit(5);
		}
		_exit(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5 ? 5 : 8);
	}
	if (n % 4 == 2)
		execl(self, "fork_storm", "child", NULL);
	if (n % 4 == 3)
		exit(5);
	_exit(5);
}

static void *storm(void *unused)
{
	for (int n = 0; n < CHILDREN; n++) {
		int status = 0;
		pid_t pid = n % 8 == 7 ? vfork() : fork();
		if (!pid) {
			if (n % 8 == 7) {
				execl(self, "fork_storm", "child", NULL);
				_exit(7);
			}
			child(n);
		}
		require(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
				WEXITSTATUS(status) == 5,
			"a child's status");
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[length > 0 ? length : 0] = 0;
	null_fd = open("/dev/null", O_WRONLY);
	if (argc > 1 && !strcmp(argv[1], "child")) {
		work();
		return 5;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, storm, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	check(waitpid(-1, NULL, 0) == -1 && errno == ECHILD, "no child is left");
	/* of eight children: one vforked and executed, two forked with a child of their own, two
	 * executed, three plain */
	say("expect %d pwrite", THREADS * CHILDREN / 8 * (1 + 2 * 2 + 2 * 2 + 3) * CALLS);
	return app_result();
}
