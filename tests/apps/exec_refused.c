/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_refused.c - children whose program may not be executed: by vfork, fork and posix_spawn.
 *
 * Each child must continue, or report the failure, as without the tracer. The report must not list
 * any of them as a program that was not traced, since none ran. A vfork child that then finds
 * another program must appear as that program.
 */
#include "app.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;

static int end_of(pid_t pid)
{
	int status = 0;
	require(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status),
		"a child that exits");
	return WEXITSTATUS(status);
}

static __attribute__((noinline)) pid_t by_vfork(const char *path, const char *then)
{
	char *const argv[] = {"refused", NULL};
	pid_t pid = vfork();
	if (pid)
		return pid;
	execve(path, argv, environ);
	if (then)
		execve(then, argv, environ);
	_exit(errno);
}

static pid_t by_fork(const char *path)
{
	char *const argv[] = {"refused", NULL};
	pid_t pid = fork();
	if (pid)
		return pid;
	execve(path, argv, environ);
	_exit(errno);
}

int main(void)
{
	char path[] = "/tmp/exec-refused-XXXXXX";
	char *const argv[] = {"refused", NULL};
	int fd = mkstemp(path);
	pid_t pid = 0;
	require(fd >= 0 && write(fd, "no program\n", 11) == 11 && !fchmod(fd, 0600), "a file");
	close(fd);
	check(end_of(by_vfork(path, NULL)) == EACCES, "a vfork child is refused");
	check(end_of(by_fork(path)) == EACCES, "a forked child is refused");
	check(posix_spawn(&pid, path, NULL, NULL, argv, environ) == EACCES,
		"posix_spawn is refused");
	chmod(path, 0700);
	check(end_of(by_vfork(path, NULL)) == ENOEXEC, "a file that is not a program is refused");
	check(end_of(by_vfork(path, "/bin/true")) == 0, "a vfork child finds another program");
	unlink(path);
	return app_result();
}
