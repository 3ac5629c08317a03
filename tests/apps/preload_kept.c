/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_kept.c - passes LD_PRELOAD to the programs it starts and drops all other variables, as
 * some servers do with CGI programs: by exec in a child, by posix_spawn, and by exec of itself.
 *
 * The started programs must belong to the same tree as their parent, with its options, and must
 * leave no report of their own. No variable may be missing from the environment that they are
 * given.
 */
#include "app.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define CALLS 5

static void work(void)
{
	char byte;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < CALLS; i++)
		require(pread(fd, &byte, 1, 0) == 1, "pread");
	close(fd);
}

static void ends_well(pid_t pid, const char *how)
{
	int status = -1;
	check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, how);
}

int main(int argc, char **argv)
{
	char self[4096], preload[4096] = "MINE=1";
	char *child[] = {"preload_kept", "child", NULL}, *last[] = {"preload_kept", "last", NULL};
	char *given[] = {"OTHER=2", preload, NULL};
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	pid_t pid = -1;
	self[length > 0 ? length : 0] = 0;
	work();
	if (argc > 1) {
		const char *other = getenv("OTHER");
		check(other && !strcmp(other, "2") && !getenv("HOME"),
			"the environment is as given");
		check(access("report1.rep", F_OK) != 0, "no report of its own");
		return app_result();
	}
	if (getenv("LD_PRELOAD"))
		snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", getenv("LD_PRELOAD"));
	pid = fork();
	if (!pid) {
		execve(self, child, given);
		_exit(1);
	}
	ends_well(pid, "exec in a child");
	require(posix_spawn(&pid, self, NULL, NULL, child, given) == 0,
		"posix_spawn"); /* the child prints now */
	ends_well(pid, "posix_spawn");
	check(access("report1.rep", F_OK) != 0, "no report of the children");
	say("expect %d pread", CALLS * 4);
	execve(self, last, given);
	return 1;
}
