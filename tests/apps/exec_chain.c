/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_chain.c - a process that replaces itself again and again.
 *
 * Each image of one pid must be a process of its own in the report, with its own program and
 * arguments. Failing exec calls must leave errno and tracing as they were. Each step makes CALLS
 * preads, by execl, execlp, execle, execv, execvp, execvpe, execve, fexecve and execveat in turn.
 */
#include "app.h"

#include <fcntl.h>

#define CALLS 5
#define STEPS 9

extern char **environ;

static void work(void)
{
	char byte;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < CALLS; i++)
		require(pread(fd, &byte, 1, 0) == 1, "pread");
	close(fd);
}

static void fail_first(void)
{
	char *argv[] = {"none", NULL};
	errno = 0;
	check(execv("/nonexistent/program", argv) == -1 && errno == ENOENT,
		"exec of nothing: ENOENT");
	check(execv("/dev/null", argv) == -1 && errno == EACCES, "exec of a device: EACCES");
	check(execvp("nonexistent-program-name", argv) == -1 && errno == ENOENT,
		"execvp of nothing: ENOENT");
}

static void step_to(const char *self, char *next)
{
	char *argv[] = {"exec_chain", next, NULL};
	int fd = open(self, O_RDONLY | O_CLOEXEC);
	switch (atoi(next) - 1) {
	case 0:
		execl(self, "exec_chain", next, NULL);
		break;
	case 1:
		execlp(self, "exec_chain", next, NULL);
		break;
	case 2:
		execle(self, "exec_chain", next, NULL, environ);
		break;
	case 3:
		execv(self, argv);
		break;
	case 4:
		execvp(self, argv);
		break;
	case 5:
		execvpe(self, argv, environ);
		break;
	case 6:
		execve(self, argv, environ);
		break;
	case 7:
		fexecve(fd, argv, environ);
		break;
	case 8:
		execveat(AT_FDCWD, self, argv, environ, 0);
		break;
	}
	check(0, "exec returned");
	_exit(1);
}

int main(int argc, char **argv)
{
	char self[4096], next[16];
	int step = argc > 1 ? atoi(argv[1]) : 0;
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[length > 0 ? length : 0] = 0;

	if (!step)
		fail_first();
	work();
	say("pass: step %d", step);
	if (app_failures)
		return 1;
	snprintf(next, sizeof(next), "%d", step + 1);
	if (step < STEPS)
		step_to(self, next);
	say("expect %d pread", CALLS * (STEPS + 1));
	return app_result();
}
