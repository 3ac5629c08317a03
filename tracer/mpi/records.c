/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records.c - records of the MPI source.
 */
#include "tracer/mpi/mpi.h"

#include "tracer/core/lane.h"
#include "tracer/core/state.h"

void mpi_call_record(
	uint64_t tick, uint64_t ticks, enum mpi_class class, const struct mpi_call *call)
{
	struct thread *t = &thread_self;
	const unsigned slots = record_slots(sizeof(*call));
	if (!t->lane || !thread_try_enter(t)) {
		session_count_drop(DROP_NESTED);
		return;
	}
	struct record *r = lane_room_soon(t, slots);
	if (r) {
		*r = (struct record){
			tick, sizeof(*call) << RECORD_LENGTH_SHIFT | REC_MPI_CALL, class, ticks};
		*(struct mpi_call *)(void *)(r + 1) = *call;
		lane_publish(t, slots);
	}
	thread_give(t);
}

void mpi_record(
	uint64_t tick, uint32_t kind, uint64_t a, uint64_t b, const void *payload, uint64_t bytes)
{
	struct thread *t = &thread_self;
	if (!t->lane || !thread_try_enter(t)) {
		session_count_drop(DROP_NESTED);
		return;
	}
	lane_put(t, tick, kind, a, b, payload, bytes);
	thread_give(t);
}
