/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c - NVTX ranges that a dead process left open.
 */
#include "writer/nvtx/open.h"

#include <string.h>

#include "writer/base/names.h"
#include "writer/cuda/launches.h"
#include "writer/nvtx/named.h"

/* The values of the row of an open NVTX range. */
struct nvtx_row {
	uint64_t tick, ticks;
	uint64_t names; /* domain << 32 | text, as in records */
	struct nvtx_attributes attributes;
	uint64_t id;
	uint32_t start_tid, level, flags;
	uint32_t text_bytes;
	char text[NVTX_TEXT_ROOM_BYTES];
};

static void attributes_set(
	struct batch *b, uint32_t first, uint32_t domain, uint32_t text, const struct nvtx_row *row)
{
	const struct nvtx_attributes *a = &row->attributes;
	batch_set(b, first, domain);
	batch_set(b, first + 1, text);
	batch_set(b, first + 2, a->category);
	batch_set(b, first + 3, a->color);
	batch_set(b, first + 4, a->payload_type);
	batch_set(b, first + 5, a->payload);
}

static uint32_t text_id(
	struct writer *w, struct spool *spool, const struct nvtx_row *row, uint64_t *flags)
{
	return *flags & RECORD_TEXT_CUT
		? nvtx_long_id(w, spool, row->text, row->text_bytes, flags)
		: strings_id(&w->report.strings, row->text, row->text_bytes);
}

_Static_assert(NVTX_RANGE_PAYLOAD == NVTX_RANGE_DOMAIN + 5 &&
		NVTX_START_END_PAYLOAD == NVTX_START_END_DOMAIN + 5,
	"attributes_set() counts on the order of these fields");

static void row_fill(struct writer *w, struct spool *spool, struct batch *b, uint32_t kind,
	const struct nvtx_row *row)
{
	uint32_t domain = spool_name_id(w, spool, (uint32_t)(row->names >> 32));
	uint64_t flags = row->flags;
	uint32_t text = row->text_bytes ? text_id(w, spool, row, &flags)
					: spool_name_id(w, spool, (uint32_t)row->names);
	if (!row->text_bytes && (uint32_t)row->names)
		flags |= RECORD_TEXT_NAMED;
	if (kind == EVENT_NVTX_RANGE) {
		attributes_set(b, NVTX_RANGE_DOMAIN, domain, text, row);
		batch_set(b, NVTX_RANGE_LEVEL, row->level);
		batch_set(b, NVTX_RANGE_FLAGS, flags);
	} else {
		attributes_set(b, NVTX_START_END_DOMAIN, domain, text, row);
		batch_set(b, NVTX_START_END_RANGE_ID, row->id);
		batch_set(b, NVTX_START_END_START_TID, row->start_tid);
		batch_set(b, NVTX_START_END_FLAGS, flags);
	}
}

static void range_put(struct ending *e, uint32_t kind, const struct nvtx_row *row)
{
	uint64_t ns = ending_ns(e, row->tick), end_ns = ending_ns(e, row->tick + row->ticks);
	uint32_t duration =
		kind == EVENT_NVTX_RANGE ? NVTX_RANGE_DURATION : NVTX_START_END_DURATION;
	struct batch *b = ending_row_add(e, kind, ns);
	batch_set(b, duration, end_ns > ns ? end_ns - ns : 0);
	row_fill(e->w, e->spool, b, kind, row);
	ending_note_end(e, end_ns);
	ending_tally(e)->unfinished++;
	launches_note_range(e->spool,
		&(struct launch_span){.tick = row->tick,
			.end_tick = row->tick + row->ticks,
			.is_span = kind == EVENT_NVTX_START_END,
			.tid = kind == EVENT_NVTX_START_END ? row->start_tid : e->view->tid,
			.id = row->id,
			.domain = (uint32_t)(row->names >> 32),
			.name = row->text_bytes ? 0 : (uint32_t)row->names,
			.text = row->text,
			.text_bytes = row->text_bytes < NVTX_TEXT_BYTES ? row->text_bytes
									: NVTX_TEXT_BYTES,
			.attributes = row->attributes});
}

static void frame_read(
	struct nvtx_row *row, const struct nvtx_frame *f, uint32_t text_bytes, uint64_t end_tick)
{
	*row = (struct nvtx_row){.tick = f->tick,
		.ticks = end_tick > f->tick ? end_tick - f->tick : 0,
		.names = f->names,
		.level = f->level,
		.flags = RECORD_UNFINISHED | (f->flags & FRAME_CUT ? RECORD_TEXT_CUT : 0),
		.text_bytes = f->flags & FRAME_NAMED ? 0 : text_bytes};
	if (f->flags & FRAME_ATTRIBUTES)
		row->attributes = f->attributes;
	memcpy(row->text, f->text, text_bytes);
}

static bool overlap(uint64_t offset, uint64_t other)
{
	return other && offset < other + NVTX_RANGES_BYTES && other < offset + NVTX_RANGES_BYTES;
}

/* Return true if the memory overlaps that of another lane. In an undamaged spool it does not: each
 * lane has memory of its own. */
static bool is_anothers(const struct spool *spool, uint64_t offset)
{
	for (uint32_t i = 0; i < spool->lane_count; i++)
		if (overlap(offset, spool->lanes[i]->ranges))
			return true;
	return false;
}

/* Add a row for each range that was pushed on this lane and is still open. */
static void frames_put(struct ending *e)
{
	struct spool *spool = e->spool;
	struct lane_view *view = e->view;
	static struct nvtx_row row;
	const struct lane *lane = lane_of(spool, view);
	uint64_t offset = lane ? lane->ranges : 0, head = view->position;
	uint32_t top = offset ? lane->ranges_top : 0;
	if (!offset || top > NVTX_RANGES_BYTES || is_anothers(spool, offset))
		return;
	view->ranges = offset;
	for (uint32_t at = 0; at + sizeof(struct nvtx_frame) <= top;) {
		const uint8_t *frames = spool_at(spool, offset, NVTX_RANGES_BYTES);
		if (!frames)
			return;
		const struct nvtx_frame *f = (const void *)(frames + at);
		uint32_t bytes = f->text_bytes;
		if (bytes > NVTX_TEXT_ROOM_BYTES || at + sizeof(*f) + bytes > NVTX_RANGES_BYTES)
			return;
		bool recorded = f->recorded_at && f->recorded_at <= head;
		if (!(f->flags & (FRAME_CLOSED | FRAME_SILENT)) && !recorded) {
			frame_read(&row, f, bytes, e->end_tick);
			range_put(e, EVENT_NVTX_RANGE, &row);
		}
		at += (uint32_t)((sizeof(*f) + bytes + 7) & ~7u);
	}
}

/* Return true if the record of the range is in the lane of the thread that ended it. */
static bool span_is_recorded(struct spool *spool, const struct nvtx_span *s)
{
	uint64_t at = s->recorded_at;
	uint32_t number = s->end_lane;
	if (!at)
		return false;
	for (uint32_t i = 0; i < spool->lane_count; i++) {
		const struct lane *lane = lane_of(spool, spool->lanes[i]);
		if (spool->lanes[i]->index == number)
			return lane && __atomic_load_n(&lane->head, __ATOMIC_ACQUIRE) >= at;
	}
	return false;
}

static void span_put(struct ending *e, const struct nvtx_span *s)
{
	static struct nvtx_row row;
	uint32_t bytes = s->text_bytes;
	if (!s->id || s->flags & FRAME_SILENT || bytes > NVTX_TEXT_ROOM_BYTES)
		return;
	row = (struct nvtx_row){.tick = s->tick,
		.ticks = e->end_tick > s->tick ? e->end_tick - s->tick : 0,
		.names = s->names,
		.attributes = s->attributes,
		.id = s->id,
		.start_tid = s->tid,
		.flags = RECORD_UNFINISHED | (s->flags & FRAME_CUT ? RECORD_TEXT_CUT : 0),
		.text_bytes = s->flags & FRAME_NAMED ? 0 : bytes};
	memcpy(row.text, s->text, bytes);
	if (!span_is_recorded(e->spool, s))
		range_put(e, EVENT_NVTX_START_END, &row);
}

static uint64_t span_chunk(struct spool *spool, uint32_t number)
{
	return __atomic_load_n(&spool_header(spool)->nvtx_span_chunk[number], __ATOMIC_ACQUIRE);
}
_Static_assert(NVTX_RANGES_BYTES == CHUNK_BYTES, "both are compared by overlap()");

/* Add a row for each open range that a thread of this lane started. */
static void spans_put(struct ending *e)
{
	struct spool *spool = e->spool;
	for (uint32_t number = 0; number < NVTX_SPAN_CHUNKS_MAX; number++) {
		uint64_t offset = span_chunk(spool, number);
		for (uint32_t other = 0; offset && other < number; other++)
			if (overlap(offset, span_chunk(spool, other)))
				offset = 0; /* rows of this memory are already added */
		for (uint32_t i = 0; offset && i < NVTX_SPANS_PER_CHUNK; i++) {
			const struct nvtx_span *chunk =
				(const void *)spool_at(spool, offset, CHUNK_BYTES);
			if (!chunk)
				return;
			if (chunk[i].lane != e->view->index)
				continue;
			const struct nvtx_span copy = chunk[i];
			if (copy.lane == e->view->index)
				span_put(e, &copy);
		}
	}
}

void nvtx_open_put(struct ending *e)
{
	frames_put(e);
	spans_put(e);
}
