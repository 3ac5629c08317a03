/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clearenv_exec.c - empties its environment, continues, and executes itself with an empty
 * environment.
 *
 * Tracing of the running process must no longer depend on its environment. The new image must get
 * exactly the environment that the program passes to exec. The report must name the image that
 * lost LD_PRELOAD.
 */
#include "app.h"

#include <fcntl.h>
#include <sys/wait.h>

#define CALLS 5
extern char **environ;

static void work(void)
{
	char byte;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < CALLS; i++)
		require(pread(fd, &byte, 1, 0) == 1, "pread");
	close(fd);
}

int main(int argc, char **argv)
{
	char self[4096], *empty[] = {NULL}, *again[] = {"clearenv_exec", "again", NULL};
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int status = 0;
	self[length > 0 ? length : 0] = 0;
	if (argc > 1 && !strcmp(argv[1], "again")) {
		work();
		check(!environ[0], "the environment is empty, as given");
		return app_result();
	}
	work();
	clearenv();
	check(getenv("LD_PRELOAD") == NULL && getenv("PATH") == NULL, "clearenv");
	work();
	pid_t pid = fork();
	if (!pid) {
		work();
		_exit(5);
	}
	check(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5, "fork after clearenv");
	say("expect %d pread", CALLS * 3); /* the new image is not traced */
	execve(self, again, empty);
	return 1;
}
