/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_locks.c - starts the program on whose file it holds a lock (fcntl), and fails to execute a
 * file, while another thread opens and closes descriptors.
 *
 * The lock must still be held afterwards, every open() must get the lowest free number, and
 * programs must be identified even if no descriptor is left.
 */
#include "app.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define SPAWNS 100
#define FAILED_EXECS 3000
extern char **environ;
static int stop;

static int run(const char *path)
{
	char *const arguments[] = {"exec_locks", "child", NULL};
	int status = -1;
	pid_t pid = -1;
	return !posix_spawn(&pid, path, NULL, NULL, arguments, environ) &&
		waitpid(pid, &status, 0) == pid && status == 0;
}

/* Return whether another process sees the lock. */
static int is_locked(int fd)
{
	int status = -1;
	pid_t pid = fork();
	if (!pid) {
		struct flock lock = {.l_type = F_WRLCK};
		_exit(!fcntl(fd, F_GETLK, &lock) && lock.l_type == F_RDLCK ? 5 : 6);
	}
	return waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5;
}

static void *open_and_close(void *argument)
{
	int least = *(int *)argument, other = 0;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		int fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC);
		other += fd != least;
		other += syscall(SYS_close, fd) != 0;
	}
	check(!other, "open() gets the least free number");
	return NULL;
}

int main(int argc, char **argv)
{
	struct flock lock = {.l_type = F_RDLCK};
	struct rlimit files, none = {0, 0};
	pthread_t thread;
	(void)argv;
	if (argc > 1)
		return 0;
	int fd = open("/proc/self/exe", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int least = fd + 1, ended = 0, failed = 0;
	check(!fcntl(fd, F_SETLK, &lock) && is_locked(fd), "a lock on the program's file");
	check(run("/proc/self/exe") && is_locked(fd), "it is held when the program has run");
	check(!getrlimit(RLIMIT_NOFILE, &files), "getrlimit");
	none.rlim_max = files.rlim_max;
	none.rlim_cur = (rlim_t)least;
	setrlimit(RLIMIT_NOFILE, &none);
	check(run("/bin/true"), "a program with no descriptor left");
	setrlimit(RLIMIT_NOFILE, &files);
	pthread_create(&thread, NULL, open_and_close, &least);
	for (int i = 0; i < SPAWNS; i++)
		ended += run("/bin/true");
	char *const arguments[] = {"exec_locks", NULL};
	for (int i = 0; i < FAILED_EXECS; i++)
		failed += execve("/nowhere/at/all", arguments, environ) == -1 && errno == ENOENT;
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	check(ended == SPAWNS && is_locked(fd), "as many have run, and the lock is held");
	check(failed == FAILED_EXECS, "execve() of a missing file fails");
	return app_result();
}
