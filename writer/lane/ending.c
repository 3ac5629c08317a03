/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ending.c - the end of a lane whose process has ended.
 */
#include "writer/lane/ending.h"

#include <string.h>

/* Load the slots before the position, as far as their chunk still holds them. Payloads among them
 * are read as records, because their words match no event's time and kind. */
static void recent_load(struct ending *e)
{
	uint64_t position = e->view->position;
	while (e->recent_count < ENDING_RECENT && position >= RECORD_BYTES) {
		position -= RECORD_BYTES;
		uint64_t offset = lane_chunk_offset(e->lane, position / CHUNK_BYTES);
		const uint8_t *chunk = spool_at(e->spool, offset, CHUNK_BYTES);
		e->lane = lane_of(e->spool, e->view); /* the spool may have been remapped */
		if (!chunk || !e->lane)
			return;
		memcpy(&e->recent[e->recent_count++], chunk + position % CHUNK_BYTES, RECORD_BYTES);
	}
}

void ending_begin(struct ending *e, struct writer *w, struct spool *spool, struct lane_view *view,
	uint64_t end_tick)
{
	*e = (struct ending){.w = w,
		.spool = spool,
		.view = view,
		.lane = lane_of(spool, view),
		.end_tick = end_tick,
		.first_ns = UINT64_MAX};
	if (e->lane)
		recent_load(e);
	if (e->lane && !view->tid)
		view->tid = e->lane->tid;
}

bool ending_is_recorded(const struct ending *e, uint64_t tick, uint64_t kind)
{
	for (uint32_t i = 0; i < e->recent_count; i++)
		if (e->recent[i].tick == tick && (e->recent[i].word & RECORD_KIND_MASK) == kind)
			return true;
	return false;
}

bool ending_has_thread(const struct ending *e)
{
	uint32_t state = __atomic_load_n(&e->lane->state, __ATOMIC_ACQUIRE);
	if (state == LANE_PARTING)
		return true;
	return state == LANE_LEASED &&
		!(e->recent_count && (e->recent[0].word & RECORD_KIND_MASK) == REC_THREAD_END &&
			e->recent[0].a == e->lane->tid);
}

uint64_t ending_ns(const struct ending *e, uint64_t tick)
{
	return writer_ns(e->w, e->spool, tick);
}

/* Encode the rows of one kind into the block. */
static void batch_encode_rows(struct ending *e, struct batch *b)
{
	b->process = e->view->owner ? e->view->owner : e->spool->id;
	b->tid = e->view->tid;
	block_put_batch(&e->w->report.block, b);
	e->rows += b->count;
	b->count = 0;
}

struct batch *ending_row_add(struct ending *e, enum event_kind kind, uint64_t ns)
{
	struct batch *b = e->w->rows.batches[kind];
	while (!batch_row_add(b, ns))
		batch_encode_rows(e, b);
	e->first_ns = ns < e->first_ns ? ns : e->first_ns;
	e->last_ns = ns > e->last_ns ? ns : e->last_ns;
	ending_tally(e)->produced++;
	return b;
}

void ending_encode(struct ending *e)
{
	struct writer *w = e->w;
	for (uint32_t kind = 1; kind < EVENT_KINDS; kind++)
		if (w->rows.batches[kind]->count)
			batch_encode_rows(e, w->rows.batches[kind]);
	block_note_events(&w->report.block, e->rows, e->first_ns, e->last_ns);
	ending_tally(e)->written += e->rows;
	w->totals.events += e->rows;
	e->spool->events += e->rows;
}
