/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer_writer_wait.c - tests of the time that a process may wait for the writer: long if the
 * writer works, a second if it does not.
 *
 * Rounds are counted and take no time here. test_tracer_lane.c tests the wait for room in a lane.
 */
#define _GNU_SOURCE
#include <sys/syscall.h>

#include "common/clock.h"
#include "common/sys.h"
#include "tap.h"
#include "tracer/core/writer_wait.h"
#include "tracer/session/session.h"

#define ROUNDS_MAX ((long)(WRITER_WAIT_TOTAL_NS / WRITER_WAIT_ROUND_NS))
#define ROUNDS_ONCE ((long)(WRITER_WAIT_ONCE_NS / WRITER_WAIT_ROUND_NS))
#define WAITS 20

static struct tree_control control;
static unsigned rounds_per_block; /* 0: the writer writes no blocks */
static long rounds;

static bool no_sleep(long number, const long argument[6], long *ret_result)
{
	(void)argument;
	*ret_result = 0;
	return number == SYS_nanosleep;
}

/* Return how many of WAITS waits begin. `needed` rounds make room, if one wait may last that
 * long. */
static int waits_that_begin(long needed, bool in_vain)
{
	struct writer_wait p;
	int waits = 0;
	rounds = 0;
	for (; waits < WAITS && writer_wait_begin(&p); waits++) {
		long of_this = 0;
		do {
			session_pause(WRITER_WAIT_ROUND_NS);
			of_this++;
			if (rounds_per_block && of_this % rounds_per_block == 0)
				control.blocks++;
		} while (of_this < needed && writer_wait_goes_on(&p));
		rounds += of_this;
		writer_wait_end(&p, in_vain || of_this < needed);
	}
	return waits;
}

int main(void)
{
	clock_init();
	session.control = &control;
	sys_override = no_sleep;
	rounds_per_block = 100; /* 5 ms */
	int waits = waits_that_begin(1000, false);
	check(waits == WAITS && rounds == 1000L * WAITS,
		"a writer at work is waited for each time: %d times, %ld rounds", waits, rounds);
	waits = waits_that_begin(ROUNDS_ONCE * 2, false);
	check(waits < WAITS && rounds <= ROUNDS_MAX + ROUNDS_ONCE,
		"a writer at work that never makes room is not waited for each time: %d times, %ld "
		"rounds",
		waits, rounds);
	writer_wait_reset();
	rounds_per_block = 4000; /* 0.2 s: a slow disk */
	waits = waits_that_begin(4500, false);
	check(waits < WAITS && rounds <= ROUNDS_MAX + ROUNDS_ONCE,
		"a slow disk is waited for a bounded time: %d times, %ld rounds", waits, rounds);
	writer_wait_reset();
	rounds_per_block = 0;
	waits = waits_that_begin(ROUNDS_ONCE * 2, false);
	check(waits < WAITS && rounds <= ROUNDS_MAX,
		"a stopped writer is waited for a bounded time: %d times, %ld rounds", waits,
		rounds);
	check(waits_that_begin(1, false) == 0, "a stopped writer is not waited for again");
	control.blocks += 64;
	check(waits_that_begin(1, false) == WAITS,
		"a writer is waited for again when it has written 64 blocks");
	return tap_done();
}
