// SPDX-License-Identifier: Apache-2.0
// A small program for tests of another machine under an emulator: reads by chains of known depth,
// also from a signal handler and a forked child; with the argument "kill", it kills itself in the
// end. Prints what it did.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int fd;
static volatile int handled;

__attribute__((noinline)) static void leaf(void)
{
	char c;
	if (read(fd, &c, 1) != 1)
		abort();
	__asm__ volatile("");
}

__attribute__((noinline)) static void middle(int depth)
{
	if (depth)
		middle(depth - 1);
	else
		leaf();
	__asm__ volatile("");
}

static void handler(int number)
{
	(void)number;
	leaf();
	handled++;
}

int main(int argc, char **argv)
{
	int status = 0;
	fd = open("/dev/zero", O_RDONLY);
	signal(SIGALRM, handler);
	for (int i = 0; i < 50; i++)
		middle(i % 5);
	raise(SIGALRM);
	pid_t child = fork();
	if (!child) {
		leaf();
		_exit(4);
	}
	waitpid(child, &status, 0);
	printf("%d handled, child %d\n", handled, WEXITSTATUS(status));
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "kill"))
		kill(getpid(), SIGKILL);
	return 3;
}
