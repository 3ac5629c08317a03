/* SPDX-License-Identifier: Apache-2.0 */
/*
 * longjmp_storm.c - a fast timer whose handler leaves wrapped calls by siglongjmp at any
 * instruction, the tracer's own among them, as interpreters do with a time limit on system calls.
 *
 * At whatever instruction a wrapper is left, the next calls must be recorded as if nothing had
 * happened: all pwrites after the storm are in the report, and every pread during the storm is in
 * the report or counted as missing.
 */
#include "app.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>

#define ROUNDS 4000
#define AFTER 1000
static sigjmp_buf back;
static volatile uint64_t done;
static int zero_fd, null_fd;

static void jump(int signal)
{
	(void)signal;
	siglongjmp(back, 1);
}

static void arm(long microseconds)
{
	struct itimerval soon = {.it_value = {0, microseconds}};
	syscall(SYS_setitimer, ITIMER_REAL, &soon, NULL);
}

static void storm(void)
{
	for (volatile int round = 0; round < ROUNDS; round++) {
		if (sigsetjmp(back, 1))
			continue;
		arm(30 + round % 97);
		for (;;) {
			char byte;
			require(pread(zero_fd, &byte, 1, 0) == 1, "pread");
			done++;
		}
	}
	arm(0);
}

int main(void)
{
	zero_fd = open("/dev/zero", O_RDONLY);
	null_fd = open("/dev/null", O_WRONLY);
	signal(SIGALRM, jump);
	storm();
	for (int i = 0; i < AFTER; i++)
		require(pwrite(null_fd, "x", 1, 0) == 1, "pwrite");
	check(done > ROUNDS, "calls were made and left");
	say("expect %d pwrite", AFTER);
	if (app_facts())
		say("facts: done %llu", (unsigned long long)done);
	return app_result();
}
