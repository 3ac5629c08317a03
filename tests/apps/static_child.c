/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -static
/* static_child.c - a statically linked program: the loader never runs, so it cannot be traced; the
 * report must say so. With arguments FIFO PROGRAM..., it waits until FIFO is opened for writing,
 * and becomes PROGRAM; with "spawn PROGRAM...", it starts PROGRAM and waits for it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "spawn")) {
		pid_t pid = fork();
		if (!pid) {
			execvp(argv[2], argv + 2);
			_exit(1);
		}
		return waitpid(pid, NULL, 0) == pid ? 7 : 1;
	}
	if (argc > 2) {
		close(open(argv[1], O_RDONLY));
		execvp(argv[2], argv + 2);
		return 1;
	}
	puts("static child");
	return 7;
}
