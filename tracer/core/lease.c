/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.c - leases of the spool's lanes.
 */
#define _GNU_SOURCE
#include "tracer/core/lease.h"

#include "common/sys.h"
#include "tracer/core/lane.h"
#include "tracer/core/spool_file.h"
#include "tracer/core/state.h"

uint32_t lease_given_back;

/* Return a lane in `state` that no thread uses, or NULL. */
static struct lane *reuse(uint32_t state)
{
	struct spool_header *spool = session.spool;
	uint32_t count = __atomic_load_n(&spool->lane_count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t offset = __atomic_load_n(&spool->lane_offset[i], __ATOMIC_ACQUIRE);
		if (!offset)
			continue; /* the lane is being created: it is counted, but not stored yet */
		struct lane *lane = spool_file_at(offset);
		uint32_t now = state;
		if (__atomic_load_n(&lane->state, __ATOMIC_ACQUIRE) == state &&
			(state == LANE_FREE || thread_is_dead(lane->tid)) &&
			__atomic_compare_exchange_n(&lane->state, &now, LANE_LEASED, false,
				__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return lane;
	}
	return NULL;
}

static struct lane *create(enum lane_state state)
{
	struct spool_header *spool = session.spool;
	if (__atomic_load_n(&spool->lane_count, __ATOMIC_RELAXED) >= SPOOL_LANES_MAX)
		return NULL;
	void *place;
	uint64_t offset = spool_file_take(LANE_BYTES, LANE_BYTES, &place);
	if (!offset)
		return NULL;
	struct lane *lane = place;
	lane->state = state;
	uint32_t index = __atomic_fetch_add(&spool->lane_count, 1, __ATOMIC_ACQ_REL);
	if (index >= SPOOL_LANES_MAX) {
		__atomic_store_n(&spool->lane_count, SPOOL_LANES_MAX, __ATOMIC_RELEASE);
		return NULL;
	}
	lane->index = index;
	__atomic_store_n(&spool->lane_offset[index], offset, __ATOMIC_RELEASE);
	return lane;
}

/* Record the sums that handlers of a dead thread have left in its lane. */
static void clear(struct thread *t, struct lane *lane)
{
	t->lane = lane;
	lane_audit_begin(t);
	lane_flush_sums(t);
	t->lane = NULL;
	t->chunk = t->limit = 0;
}

struct lane *lease_take(struct thread *t)
{
	struct lane *lane = reuse(LANE_FREE);
	if (!lane) {
		lane = reuse(LANE_PARTING);
		if (lane)
			clear(t, lane);
	}
	return lane ? lane : create(LANE_LEASED);
}

bool lease_has_others(const struct thread *t)
{
	struct spool_header *spool = session.spool;
	uint32_t count = spool ? __atomic_load_n(&spool->lane_count, __ATOMIC_ACQUIRE) : 0;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t offset = __atomic_load_n(&spool->lane_offset[i], __ATOMIC_ACQUIRE);
		const struct lane *lane = offset ? spool_file_at(offset) : NULL;
		if (lane && __atomic_load_n(&lane->state, __ATOMIC_ACQUIRE) == LANE_LEASED &&
			__atomic_load_n(&lane->tid, __ATOMIC_RELAXED) != t->tid)
			return true;
	}
	return false;
}

struct lane *lease_for_device(void)
{
	struct lane *lane = create(LANE_DEVICE);
	if (lane)
		lane->pid = session.pid;
	return lane;
}

void lease_give(struct lane *lane)
{
	__atomic_store_n(&lane->state, LANE_FREE, __ATOMIC_RELEASE);
	__atomic_fetch_add(&lease_given_back, 1, __ATOMIC_RELAXED);
}
