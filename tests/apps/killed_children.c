/* SPDX-License-Identifier: Apache-2.0 */
/*
 * killed_children.c - a parent that kills sleeping children, with its own times of each end.
 *
 * Usage: killed_children waits|late|never
 *
 * Prints the pids of the children, reads a line, and kills. Then prints for each child: pid, when
 * it was about to kill, when it knew that the child was dead, when it had waited for it (0 =
 * never), in ns of CLOCK_MONOTONIC. "late" and "never" learn of the death by a raw system call,
 * which leaves the child a zombie.
 */
#include "app.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>

#define CHILDREN 6

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void child(void)
{
	for (;;)
		sleep(1000);
}

int main(int argc, char **argv)
{
	pid_t pids[CHILDREN];
	long long killed[CHILDREN], dead[CHILDREN], waited[CHILDREN] = {0};
	char line[8];
	if (argc != 2)
		return 2;
	const bool waits = !strcmp(argv[1], "waits"), is_late = !strcmp(argv[1], "late");
	for (int i = 0; i < CHILDREN; i++) {
		pids[i] = fork();
		if (!pids[i])
			child();
		printf("%d ", (int)pids[i]);
	}
	puts("");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 3;
	for (int i = 0; i < CHILDREN; i++) {
		siginfo_t info;
		killed[i] = now();
		kill(pids[i], SIGTERM);
		if (waits)
			waitpid(pids[i], NULL, 0);
		else
			syscall(SYS_waitid, P_PID, pids[i], &info, WEXITED | WNOWAIT, NULL);
		dead[i] = now();
		waited[i] = waits ? dead[i] : 0;
	}
	for (int i = 0; i < CHILDREN && is_late; i++) {
		waitpid(pids[i], NULL, 0);
		waited[i] = now();
	}
	for (int i = 0; i < CHILDREN; i++)
		printf("%d %lld %lld %lld\n", (int)pids[i], killed[i], dead[i], waited[i]);
	return 0;
}
