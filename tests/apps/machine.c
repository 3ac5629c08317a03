// SPDX-License-Identifier: Apache-2.0
// A small program for tests of another machine under an emulator: reads by chains of known depth,
// also from a signal handler and a forked child. Prints what it did. With the argument "kill", it
// kills itself in the end; with "vectors", it checks before that a handler changes no vector.
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

#if defined(__aarch64__)
/* The registers of SVE are filled, then a signal's handler makes a recorded call. Return how many
 * bytes of 32 vectors and 4 predicates are as before, less how many there are. */
#define VECTORS    \
	".irp n, " \
	"0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
__attribute__((noinline)) static long vectors_lost(void)
{
	long same;
	__asm__ volatile(
		".arch_extension sve\n"
		"ptrue p0.b\n\tptrue p4.b\n\tptrue p13.b\n\tptrue p14.b\n\tptrue p15.b\n" VECTORS
		"dup z\\n\\().b, #\\n - 16\n.endr\n"
		"mov x0, %1\n\tmov x1, %1\n\tmov x2, %2\n\tmov x8, #131\n\tsvc #0\n" /* tgkill */
		"cntp %0, p4, p13.b\n\tcntp x0, p4, p14.b\n\tadd %0, %0, x0\n"
		"cntp x0, p4, p15.b\n\tadd %0, %0, x0\n\tcntp x0, p4, p4.b\n\tadd %0, %0, "
		"x0\n" VECTORS "cmpeq p1.b, p4/z, z\\n\\().b, #\\n - 16\n\tcntp x0, p4, "
		"p1.b\n\tadd %0, %0, x0\n.endr\n"
		"cntb x0\n\tmov x1, #36\n\tmul x0, x0, x1\n\tsub %0, x0, %0\n"
		: "=&r"(same)
		: "r"((long)getpid()), "r"((long)SIGALRM)
		: "x0", "x1", "x2", "x8", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8",
		"v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20",
		"v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc",
		"memory");
	return same;
}
#else
static long vectors_lost(void)
{
	return -1;
}
#endif

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
	if (argc > 1 && !strcmp(argv[1], "vectors"))
		printf("vectors lost: %ld, %d handled\n", vectors_lost(), handled);
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "kill"))
		kill(getpid(), SIGKILL);
	return 3;
}
