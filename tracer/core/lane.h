/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane.h - the producer's side of a lane (common/spool.h): room, records, gaps.
 *
 * The hot path (osrt.h) writes one 32-byte record while there is room and calls lane_room()
 * otherwise. All functions: the lane's owning thread, thread.busy set; async-signal-safe; no
 * allocation. lane_room() may wait, bounded, for the writer.
 */
#ifndef TRACER_CORE_LANE_H
#define TRACER_CORE_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/machine.h"
#include "tracer/core/thread.h"

/* Make room for `slots` consecutive records (mostly 1). Close an open gap and move nested records
 * first. Return the address of the first record, or NULL: the event has been counted as dropped. */
struct record *lane_room(struct thread *t, unsigned slots);

/* Return room for `slots` records if there is room without further work, else NULL: call
 * lane_room() then. */
static inline struct record *lane_room_at_hand(const struct thread *t, unsigned slots)
{
	uint64_t at = t->lane->head % CHUNK_BYTES;
	return at + (slots - 1) * RECORD_BYTES < t->limit ? (struct record *)(void *)(t->base + at)
							  : NULL;
}

/* As lane_room(), for events whose rate matters. */
static inline struct record *lane_room_soon(struct thread *t, unsigned slots)
{
	struct record *r = lane_room_at_hand(t, slots);
	return __builtin_expect(r != NULL, 1) ? r : lane_room(t, slots);
}

/* Return the slots of a record with `bytes` bytes of payload. */
static inline unsigned record_slots(uint64_t bytes)
{
	return 1 + (unsigned)((bytes + RECORD_BYTES - 1) / RECORD_BYTES);
}

/* Publish the next `slots` records. One instruction moves the head: a handler may fork by a raw
 * system call, and the child continues here, too, at any later time. */
static inline void lane_publish(struct thread *t, unsigned slots)
{
	uint64_t bytes = (uint64_t)slots * RECORD_BYTES;
	t->published += bytes;
	THREAD_BARRIER();
	machine_owner_publish(&t->lane->head, bytes);
}

/* Make `call` the open call. The stack pointer is stored last: a handler that runs before that uses
 * the entry for its own calls, and may leave their tick and kind there. */
static inline __attribute__((always_inline)) void lane_open(
	struct lane *lane, const struct open_call *call)
{
	do {
		lane->open.tick = call->tick;
		lane->open.kind = call->kind;
		THREAD_BARRIER();
		lane->open.sp = call->sp;
		THREAD_BARRIER();
	} while (__builtin_expect(
		lane->open.tick != call->tick || lane->open.kind != call->kind, 0));
}

/* Write a whole record with its payload (at most LANE_PAYLOAD_MAX bytes, cut beyond). Return false
 * if the record was dropped; the drop is counted. */
bool lane_put(struct thread *t, uint64_t tick, unsigned kind, uint64_t a, uint64_t b,
	const void *payload, uint64_t bytes);

/* Keep an event of a signal handler that interrupted the tracer on this thread. The owner moves
 * it into the lane later. */
void lane_put_nested(struct thread *t, const struct record *record);

/* Begin to count what this thread publishes in a lane that it has just got. The lane's present
 * content is the baseline. */
void lane_audit_begin(struct thread *t);

/*
 * Compare the lane with the thread's own counts; count a drop for each record, and each call in a
 * sum, that another process has added. A child that a handler forked by a raw system call does so:
 * it continues within the tracer, in its parent's lane, until it tests the gate. Takes half a
 * microsecond. Owning thread, thread.busy set.
 */
void lane_audit(struct thread *t);

/* Turn the sums of calls below the threshold into records, and clear them. */
void lane_flush_sums(struct thread *t);

/* Wake the writer if it sleeps; a system call only then. */
void lane_wake_writer(void);

#define LANE_PAYLOAD_MAX 8192u

#endif
