/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reap.c - runs a command, waits for all processes that it leaves behind, and reports the resources
 * that they used.
 *
 *     reap FILE COMMAND...     the exit status is the command's
 *
 * Writes a line to FILE: reap WALL CPU CPU-OF-LEFT-BEHIND PEAK-KIB WAITED, with
 *
 *     CPU                  of the command and the processes that it waited for
 *     CPU-OF-LEFT-BEHIND   of processes that outlived it, such as a tracer's writer
 *     PEAK-KIB             the greatest peak memory of one process
 *     WAITED               how long the command's first thread was runnable, but waited for a
 *                          processor (0: unknown)
 */
#include "bench.h"
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static uint64_t cpu_of(const struct rusage *usage)
{
	return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000u +
		(uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000u;
}

/* Return the run-queue wait of a process that has ended and is not reaped: the second number of its
 * schedstat. */
static uint64_t waited_ns(pid_t pid)
{
	char name[64];
	unsigned long ran, waited = 0;
	snprintf(name, sizeof(name), "/proc/%d/schedstat", (int)pid);
	FILE *file = fopen(name, "r");
	if (!file)
		return 0;
	int count = fscanf(file, "%lu %lu", &ran, &waited);
	fclose(file);
	return count == 2 ? waited : 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	uint64_t start = bench_clock(CLOCK_MONOTONIC), wall = 0, own = 0, left = 0, waited = 0;
	pid_t command, pid;
	if (posix_spawnp(&command, argv[2], NULL, NULL, argv + 2, environ))
		return 127;
	int status, result = 1;
	long peak = 0;
	struct rusage usage;
	siginfo_t ended;
	if (!waitid(P_PID, (id_t)command, &ended, WEXITED | WNOWAIT)) {
		wall = bench_clock(CLOCK_MONOTONIC) - start;
		waited = waited_ns(command);
	}
	while ((pid = wait4(-1, &status, 0, &usage)) > 0) {
		if (pid == command) {
			own = cpu_of(&usage);
			peak = usage.ru_maxrss;
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		} else {
			left += cpu_of(&usage);
		}
	}
	FILE *file = fopen(argv[1], "w");
	if (!file)
		return 1;
	fprintf(file, "reap\t%lu\t%lu\t%lu\t%ld\t%lu\n", wall, own, left, peak, waited);
	fclose(file);
	return result;
}
