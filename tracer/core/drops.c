/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drops.c - counts of events that reached no lane.
 *
 * Compiled as tracer/functions/call.c is, which calls it.
 */
#include "tracer/core/state.h"

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
