/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waiting for the writer may cost a process: much where it works, a second where it does not.
 * Rounds are counted; they take no time here. (With a lane: test_tracer_lane.c.)
 */
#define _GNU_SOURCE
#include <sys/syscall.h>

#include "common/clock.h"
#include "common/sys.h"
#include "tap.h"
#include "tracer/patience.h"
#include "tracer/session.h"

/* preload.c gives it; here no writer is ever started. */
int (*launch_clone)(int (*)(void *), void *, int, void *, ...);

#define ROUNDS_MAX ((long)(PATIENCE_NS / PATIENCE_ROUND_NS))
#define ROUNDS_ONCE ((long)(PATIENCE_ONCE_NS / PATIENCE_ROUND_NS))
#define WAITS 20

static struct tree_control control;
static unsigned rounds_per_block; /* 0 = it writes none */
static long rounds;

static bool no_sleep(long number, const long argument[6], long *ret_result)
{
	(void)argument;
	*ret_result = 0;
	return number == SYS_nanosleep;
}

/* How many waits begin, of WAITS; `needed` rounds make room, as far as one may last so long. */
static int waits_that_begin(long needed, bool in_vain)
{
	struct patience p;
	int waits = 0;
	rounds = 0;
	for (; waits < WAITS && patience_begin(&p); waits++) {
		long of_this = 0;
		do {
			session_pause(PATIENCE_ROUND_NS);
			of_this++;
			if (rounds_per_block && of_this % rounds_per_block == 0)
				control.blocks++;
		} while (of_this < needed && patience_left(&p));
		rounds += of_this;
		patience_end(&p, in_vain || of_this < needed);
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
		"unless that never helps: %d times, %ld rounds", waits, rounds);
	patience_renew();
	rounds_per_block = 4000; /* 0.2 s: a slow disk */
	waits = waits_that_begin(4500, false);
	check(waits < WAITS && rounds <= ROUNDS_MAX + ROUNDS_ONCE,
		"a slow disk: %d times, %ld rounds", waits, rounds);
	patience_renew();
	rounds_per_block = 0;
	waits = waits_that_begin(ROUNDS_ONCE * 2, false);
	check(waits < WAITS && rounds <= ROUNDS_MAX, "a stopped writer: %d times, %ld rounds",
		waits, rounds);
	check(waits_that_begin(1, false) == 0, "and then not again");
	control.blocks += 64;
	check(waits_that_begin(1, false) == WAITS, "but when it has written 64 blocks");
	return tap_done();
}
