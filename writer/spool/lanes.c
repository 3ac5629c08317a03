/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes.c - the lanes of a spool: finding and checking them.
 */
#include "writer/spool/lanes.h"

#include <stdlib.h>

void lane_damage(struct spool *spool, struct lane_view *view)
{
	view->damaged = true;
	spool->damaged_lanes++;
}

static struct lane_view *lane_add(struct spool *spool)
{
	struct lane_view *view = calloc(1, sizeof(*view));
	struct lane_view **lanes = realloc(spool->lanes, (spool->lane_count + 1) * sizeof(*lanes));
	if (lanes)
		spool->lanes = lanes;
	if (!view || !lanes) {
		free(view);
		return NULL;
	}
	view->index = spool->lane_count;
	spool->lanes[spool->lane_count++] = view;
	return view;
}

/* Return true if the lane overlaps another lane: events would be read twice. */
static bool is_taken(const struct spool *spool, uint64_t offset)
{
	for (uint32_t i = 0; i < spool->lane_count; i++)
		if (offset < spool->lanes[i]->offset + LANE_BYTES &&
			spool->lanes[i]->offset < offset + LANE_BYTES)
			return true;
	return false;
}

void spool_find_lanes(struct spool *spool)
{
	struct spool_header *h = spool_header(spool);
	uint32_t count = __atomic_load_n(&h->lane_count, __ATOMIC_ACQUIRE);
	if (count > SPOOL_LANES_MAX)
		count = SPOOL_LANES_MAX;
	while (spool->lane_count < count) {
		uint64_t offset =
			__atomic_load_n(&h->lane_offset[spool->lane_count], __ATOMIC_ACQUIRE);
		if (!offset && !spool->dead)
			return; /* its thread has counted the lane, but not yet stored the offset */
		struct lane *lane =
			is_taken(spool, offset) ? NULL : spool_at(spool, offset, LANE_BYTES);
		struct lane_view *view = lane_add(spool);
		if (!view)
			return;
		view->offset = offset;
		view->damaged = !lane;
		spool->damaged_lanes += offset && !lane;
		h = spool_header(spool);
		if (lane && __atomic_load_n(&lane->state, __ATOMIC_RELAXED) == LANE_DEVICE)
			spool->device_lane = view->index + 1;
		if (lane)
			view->position = __atomic_load_n(&lane->tail, __ATOMIC_RELAXED) /
				RECORD_BYTES * RECORD_BYTES;
	}
}

struct lane *lane_of(struct spool *spool, const struct lane_view *view)
{
	return view->damaged ? NULL : spool_at(spool, view->offset, LANE_BYTES);
}

static uint64_t lane_look(struct spool *spool, struct lane_view *view)
{
	struct lane *lane = lane_of(spool, view);
	if (!lane)
		return 0;
	uint64_t head = __atomic_load_n(&lane->head, __ATOMIC_ACQUIRE);
	if (head < view->position || head % RECORD_BYTES ||
		head - view->position > (uint64_t)LANE_CHUNKS_MAX * CHUNK_BYTES) {
		lane_damage(spool, view);
		return 0;
	}
	view->head = head;
	return head - view->position;
}

/* Return true if the lanes claim more data than their file holds. */
static bool is_too_much(const struct spools *s, struct spool *spool, uint64_t bytes)
{
	if (bytes > SPOOL_FIRST_BYTES && bytes > spool->data_bytes)
		spool->data_bytes = spool_data_bytes(s, spool);
	return bytes > SPOOL_FIRST_BYTES && bytes > spool->data_bytes;
}

uint64_t spool_look(const struct spools *s, struct spool *spool, uint64_t *fullest)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < spool->lane_count; i++) {
		struct lane_view *view = spool->lanes[i];
		uint64_t available = view->closed ? 0 : lane_look(spool, view);
		if (available && is_too_much(s, spool, bytes + available)) {
			lane_damage(spool, view);
			view->head = view->position;
			continue;
		}
		bytes += available;
		if (available > *fullest)
			*fullest = available;
	}
	return bytes;
}
