/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.c - the state of the session, and what is derived from it without changing it.
 */
#define _GNU_SOURCE
#include "tracer/core/state.h"

#include "common/clock.h"
#include "common/sys.h"

struct session session;

FORKED_TEXT bool session_is_ours(void)
{
	return session.restricted || (uint32_t)sys_getpid() == session.pid;
}

#define LOOK_LEAST_NS 5u /* reading a clock takes at least this */

void session_pause(uint64_t ns)
{
	if (!session.restricted) {
		sys_sleep_ns(ns);
		return;
	}
	uint64_t end_ns = clock_monotonic_ns() + ns, rounds = ns / LOOK_LEAST_NS;
	while (clock_monotonic_ns() < end_ns && rounds--)
		;
}

uint64_t session_ticks(uint64_t ns)
{
	struct clock_point now;
	const struct clock_point *first = &session.spool->first;
	clock_point_take(&now);
	if (!clock_is_tsc || now.mono_ns <= first->mono_ns)
		return ns;
	return (uint64_t)((double)ns * (double)(now.tick - first->tick) /
		(double)(now.mono_ns - first->mono_ns));
}
