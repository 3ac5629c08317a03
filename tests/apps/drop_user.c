/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drop_user.c - calls chroot, changes the user, then starts threads and forks, as a server does.
 *
 * After the program has lost its root directory and its rights on the tracer's files, it must work
 * as without the tracer. Its calls must be recorded; calls of new processes may be recorded or not.
 * Without root the program does nothing.
 */
#include "app.h"

#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define THREADS 20
#define CALLS 3000 /* more than a chunk, so that the spool has to grow */
static int zero_fd;
static pthread_barrier_t all;

static void work(void)
{
	char byte;
	for (int i = 0; i < CALLS; i++)
		require(pread(zero_fd, &byte, 1, 0) == 1, "pread");
}

static void *thread_main(void *unused)
{
	pthread_barrier_wait(&all); /* so that no thread reuses the memory of another */
	work();
	pthread_barrier_wait(&all);
	return unused;
}

int main(void)
{
	char folder[] = "/tmp/drop-user-XXXXXX";
	pthread_t thread[THREADS];
	int status = 0;
	zero_fd = open("/dev/zero", O_RDONLY);
	if (geteuid() != 0) {
		say("pass: not root");
		return 0;
	}
	work();
	require(mkdtemp(folder) != NULL, "mkdtemp");
	int before = open("/", O_RDONLY | O_CLOEXEC);
	check(!chroot(folder) && !chdir("/"), "chroot");
	require(!fchdir(before) && !rmdir(folder + 1) && !close(before), "clean up");
	check(!setgroups(0, NULL) && !setresgid(65534, 65534, 65534) &&
			!setresuid(65534, 65534, 65534),
		"another user");
	check(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_DUMPABLE, 0),
		"no new privileges, not dumpable");
	pthread_barrier_init(&all, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		require(!pthread_create(&thread[i], NULL, thread_main, NULL), "pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	pid_t pid = fork();
	if (!pid) { /* this process may not create a spool of its own */
		char byte;
		for (int i = 0; i < CALLS; i++)
			require(read(zero_fd, &byte, 1) == 1, "read");
		_exit(5);
	}
	check(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5, "fork as another user");
	say("expect %d pread", CALLS * (1 + THREADS));
	return app_result();
}
