/* SPDX-License-Identifier: Apache-2.0 */
/*
 * longjmp_over.c - leaves wrappers by siglongjmp from a signal handler.
 *
 * The program must continue as without the tracer. The abandoned call must be in the report, marked
 * as abandoned, and later calls must be right. Each of ROUNDS rounds abandons one read on an empty
 * pipe and completes one pread.
 */
#include "app.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#define ROUNDS 20

static sigjmp_buf back;
static int pipe_fd[2], zero_fd;

static void jump(int signal)
{
	(void)signal;
	siglongjmp(back, 1);
}

static void arm(void)
{
	struct itimerval soon = {.it_value = {0, 3000}};
	setitimer(ITIMER_REAL, &soon, NULL);
}

/* Frames of different depth: the wrapper's stack pointer differs from round to round. */
static ssize_t read_deep(int depth)
{
	volatile char room[256];
	char byte;
	room[0] = (char)depth;
	if (depth)
		return read_deep(depth - 1) + room[0] * 0;
	return read(pipe_fd[0], &byte, 1);
}

int main(void)
{
	char byte;
	if (pipe(pipe_fd))
		return 1;
	zero_fd = open("/dev/zero", O_RDONLY);
	signal(SIGALRM, jump);
	volatile int abandoned = 0;
	for (volatile int round = 0; round < ROUNDS; round++) {
		if (sigsetjmp(back, 1)) {
			abandoned++;
		} else {
			arm();
			read_deep(round % 5);
			check(0, "read returned");
		}
		require(pread(zero_fd, &byte, 1, 0) == 1, "pread after the jump");
	}
	check(abandoned == ROUNDS, "every read was left");
	say("expect %d pread", ROUNDS);
	say("expect %d read", ROUNDS);
	say("expect-abandoned %d read", ROUNDS);
	return app_result();
}
