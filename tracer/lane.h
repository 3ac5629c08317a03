/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane.h - the producer's side of a lane (common/spool.h): room, records, gaps.
 *
 * The hot path (osrt.h) writes one 32-byte record while there is room and comes here otherwise.
 * Everything here runs on the lane's owning thread with thread.busy set, is async-signal-safe and
 * allocates nothing; lane_room() may wait, bounded, for the writer.
 */
#ifndef TRACER_LANE_H
#define TRACER_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/thread.h"

/*
 * Makes room for `slots` records that follow each other (1 for most). Returns where the first goes,
 * or NULL: then the event has been counted as dropped. Closes an open gap and moves nested records
 * first.
 */
struct record *lane_room(struct thread *t, unsigned slots);

/* Where the lane's next record goes, in the current chunk. */
static inline struct record *lane_next(const struct thread *t)
{
	return (struct record *)(void *)(t->base + t->lane->head % CHUNK_BYTES);
}

/* Room for `slots` records without asking, or NULL: then lane_room(). */
static inline struct record *lane_room_at_hand(const struct thread *t, unsigned slots)
{
	uint64_t at = t->lane->head % CHUNK_BYTES;
	return at + (slots - 1) * RECORD_BYTES < t->limit ? (struct record *)(void *)(t->base + at)
							  : NULL;
}

/* Publishes the next `slots` records. */
static inline void lane_publish(struct thread *t, unsigned slots)
{
	__atomic_store_n(&t->lane->head, t->lane->head + slots * RECORD_BYTES, __ATOMIC_RELEASE);
}

/* Writes a whole record with its payload (at most LANE_PAYLOAD_MAX bytes, cut beyond). False =
 * dropped and counted. */
bool lane_put(struct thread *t, uint64_t tick, unsigned kind, uint64_t a, uint64_t b,
	const void *payload, uint64_t bytes);

/* Keeps an event of a signal handler that interrupted the tracer on this thread. */
void lane_put_nested(struct thread *t, const struct record *record);

/* Turns the sums of calls below the threshold into records and clears them. */
void lane_flush_sums(struct thread *t);

/* Tells the writer that there is something to fetch; a system call only when it sleeps. */
void lane_wake_writer(void);

#define LANE_PAYLOAD_MAX 8192u

#endif
