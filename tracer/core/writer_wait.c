/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer_wait.c - the budget of waits for the writer, and each wait.
 */
#include "tracer/core/writer_wait.h"

#include "common/clock.h"
#include "tracer/core/state.h"

#define QUIET_NS 100000000u /* between two blocks of a working writer, on a busy machine */
#define LEAST_NS 2000000u   /* a wait that may take less is not begun */
#define BLOCKS_AGAIN 64u
#define DOUBLINGS_MAX 20u

/* Several threads may wait at a time. If they race, a wait may be charged twice or not at all. */
static uint64_t spent_ns;
static uint32_t used_up;           /* number of times that the budget was used up */
static uint32_t blocks_at_used_up; /* control.blocks at that time */

static uint32_t blocks_now(void)
{
	return __atomic_load_n(&session.control->blocks, __ATOMIC_RELAXED);
}

static uint64_t left_ns(void)
{
	uint64_t spent = __atomic_load_n(&spent_ns, __ATOMIC_RELAXED);
	return spent < WRITER_WAIT_TOTAL_NS ? WRITER_WAIT_TOTAL_NS - spent : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void writer_wait_reset(void)
{
	spent_ns = 0;
	used_up = blocks_at_used_up = 0;
}

/* Return true if the writer has worked for long enough since the budget was used up. */
static bool is_earned_again(void)
{
	uint32_t times = __atomic_load_n(&used_up, __ATOMIC_RELAXED),
		 doublings = times ? times - 1 : 0,
		 needed = BLOCKS_AGAIN << (doublings < DOUBLINGS_MAX ? doublings : DOUBLINGS_MAX);
	return blocks_now() - __atomic_load_n(&blocks_at_used_up, __ATOMIC_RELAXED) >= needed;
}

bool writer_wait_begin(struct writer_wait *p)
{
	if (left_ns() / 2 < LEAST_NS) {
		if (!is_earned_again())
			return false;
		__atomic_store_n(&spent_ns, 0, __ATOMIC_RELAXED);
	}
	uint64_t now = clock_monotonic_ns();
	*p = (struct writer_wait){.begin_ns = now,
		.quiet_since_ns = now,
		.allowed_ns = least(left_ns() / 2, WRITER_WAIT_ONCE_NS),
		.blocks = blocks_now()};
	return true;
}

/* Return the time by the clock, or the least time that the rounds take, if that is more. */
static uint64_t lasted_ns(uint64_t since_ns, uint32_t rounds)
{
	uint64_t by_clock = clock_monotonic_ns() - since_ns,
		 by_rounds = (uint64_t)rounds * WRITER_WAIT_ROUND_NS;
	return by_clock > by_rounds ? by_clock : by_rounds;
}

static void charge(uint64_t ns)
{
	bool was_left = left_ns() / 2 >= LEAST_NS;
	__atomic_add_fetch(&spent_ns, ns, __ATOMIC_RELAXED);
	if (!was_left || left_ns() / 2 >= LEAST_NS)
		return;
	__atomic_store_n(&blocks_at_used_up, blocks_now(), __ATOMIC_RELAXED);
	__atomic_add_fetch(&used_up, 1, __ATOMIC_RELAXED);
}

bool writer_wait_goes_on(struct writer_wait *p)
{
	uint32_t blocks = blocks_now();
	p->rounds++;
	p->quiet_rounds++;
	uint64_t quiet_ns = lasted_ns(p->quiet_since_ns, p->quiet_rounds);
	if (blocks != p->blocks) {
		if (quiet_ns >= QUIET_NS)
			charge(quiet_ns);
		p->blocks = blocks;
		p->quiet_since_ns = clock_monotonic_ns();
		p->quiet_rounds = 0;
		quiet_ns = 0;
	}
	return quiet_ns < p->allowed_ns && lasted_ns(p->begin_ns, p->rounds) < WRITER_WAIT_ONCE_NS;
}

void writer_wait_end(struct writer_wait *p, bool in_vain)
{
	uint64_t quiet_ns = lasted_ns(p->quiet_since_ns, p->quiet_rounds);
	if (in_vain) /* even if the writer works, but never for this lane */
		charge(lasted_ns(p->begin_ns, p->rounds));
	else if (quiet_ns >= QUIET_NS)
		charge(quiet_ns);
}
