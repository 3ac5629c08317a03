/*
 * drop_user - as a server does: chroot, then another user, then threads and forks.
 *
 * Promise: after the program has lost its root directory and its rights on the tracer's files, it
 * works as untraced; its calls are recorded or counted as missing. Does nothing where it may not
 * (not root).
 */
#include "app.h"

#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define CALLS 3000 /* more than a chunk, so that the spool has to grow */
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
	char folder[] = "/tmp/drop-user-XXXXXX";
	pthread_t thread[2];
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
	for (int i = 0; i < 2; i++)
		require(!pthread_create(&thread[i], NULL, thread_main, NULL), "pthread_create");
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	pid_t pid = fork();
	if (!pid) {
		work();
		_exit(5);
	}
	check(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5, "fork as another user");
	say("expect-at-most %d pread", CALLS * 4);
	return app_result();
}
