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

/* Drops of a forked child that has no spool yet. */
static uint64_t early_drops[DROP_REASONS];

void session_count_drops_early(enum drop_reason reason, uint64_t events)
{
	__atomic_add_fetch(&early_drops[reason], events, __ATOMIC_RELAXED);
}

void session_count_drops(enum drop_reason reason, uint64_t events)
{
	/* A child of a handler that interrupted the tracer has a copy of its parent's spool. */
	struct spool_header *spool = session.spool;
	if (!spool || __atomic_load_n(&session.state, __ATOMIC_RELAXED) == SESSION_FORKED)
		session_count_drops_early(reason, events);
	else
		__atomic_add_fetch(&spool->dropped[reason], events, __ATOMIC_RELAXED);
}

void session_forget_early_drops(void)
{
	for (uint32_t i = 0; i < DROP_REASONS; i++)
		early_drops[i] = 0;
}

void session_move_early_drops(void)
{
	for (uint32_t i = 0; i < DROP_REASONS; i++)
		__atomic_add_fetch(&session.spool->dropped[i],
			__atomic_exchange_n(&early_drops[i], 0, __ATOMIC_RELAXED),
			__ATOMIC_RELAXED);
}

void session_count_drop(enum drop_reason reason)
{
	session_count_drops(reason, 1);
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
