/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_reads.c - makes COUNT reads of a pipe that wait a millisecond each, and prints the time
 * that they took together by the kernel's clock, which no library can change.
 *
 * The report must place the reads between the two times that are printed, and give them no more
 * time than has passed, whatever the program's clock_gettime() returns (tests/e2e/clocks.py).
 *
 *     slow_reads COUNT
 */
#include "app.h"

#include <pthread.h>
#include <time.h>

static int ends[2];
static int count;

static long long kernel_ns(void)
{
	struct timespec time = {0, 0};
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Write by raw calls, since only the reads are measured. */
static void *feed(void *unused)
{
	for (int i = 0; i < count; i++) {
		struct timespec pause = {0, 1000000};
		syscall(SYS_nanosleep, &pause, NULL);
		if (syscall(SYS_write, ends[1], "x", 1) != 1)
			break;
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t feeder;
	char byte;
	count = argc > 1 ? atoi(argv[1]) : 50;
	require(!pipe(ends) && !pthread_create(&feeder, NULL, feed, NULL), "a pipe and a feeder");
	long long begin = kernel_ns();
	for (int i = 0; i < count; i++)
		require(read(ends[0], &byte, 1) == 1, "read");
	long long end = kernel_ns();
	pthread_join(feeder, NULL);
	if (app_facts())
		say("facts: %lld %lld", begin, end);
	check(1, "reads made");
	return app_result();
}
