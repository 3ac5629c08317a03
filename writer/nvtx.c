/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx.c - NVTX records, and what a dead process left open, into rows.
 *
 * Names lie in the spool and become string ids when they are first met. Looking one up may map the
 * spool's file anew: no pointer into it is kept across that.
 */
#define _GNU_SOURCE
#include <string.h>

#include "writer/segment.h"

uint32_t nvtx_name_text(struct spool *spool, uint32_t ref, const char **ret_text)
{
	uint64_t offset = (uint64_t)ref * NVTX_NAME_UNIT, inside = offset % 4096;
	const uint8_t *page = spool_at(spool, offset - inside, inside + sizeof(struct nvtx_text));
	if (!page)
		return 0;
	uint32_t bytes = ((const struct nvtx_text *)(const void *)(page + inside))->bytes;
	if (!bytes || bytes > NAME_BYTES_MAX)
		return 0;
	inside += sizeof(struct nvtx_text);
	page = spool_at(spool, offset / 4096 * 4096, inside + bytes);
	if (!page)
		return 0;
	*ret_text = (const char *)page + inside;
	return bytes;
}

static uint32_t name_read(struct writer *w, struct spool *spool, uint32_t ref)
{
	const char *text;
	uint32_t bytes = nvtx_name_text(spool, ref, &text);
	return bytes ? spool_text_id(w, spool, text, bytes) : 0;
}

uint32_t nvtx_name_id(struct writer *w, struct spool *spool, uint32_t ref)
{
	if (!ref)
		return 0;
	struct nvtx_name_id *kept = &w->nvtx_names[(ref ^ ref >> 10) % NVTX_NAMES_KEPT];
	if (kept->process != spool->id || kept->ref != ref || !kept->string_id)
		*kept = (struct nvtx_name_id){spool->id, ref, name_read(w, spool, ref)};
	return kept->string_id;
}

uint32_t nvtx_long_id(
	struct writer *w, struct spool *spool, const char *text, uint32_t bytes, uint64_t *flags)
{
	struct nvtx_long rest = {.bytes = NVTX_TEXT_BYTES, .is_cut = 1};
	char begin[NVTX_TEXT_BYTES];
	if (bytes == NVTX_TEXT_ROOM_BYTES)
		memcpy(&rest, text + NVTX_TEXT_BYTES, sizeof(rest));
	if (rest.bytes > NVTX_TEXT_BYTES || rest.bytes > bytes)
		rest.bytes = (uint16_t)(bytes < NVTX_TEXT_BYTES ? bytes : NVTX_TEXT_BYTES);
	memcpy(begin, text, rest.bytes);
	uint32_t whole = nvtx_name_id(w, spool, rest.ref);
	if (whole && !rest.is_cut)
		*flags &= ~(uint64_t)RECORD_TEXT_CUT;
	return whole ? whole : strings_id(&w->strings, begin, rest.bytes);
}

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
	return *flags & RECORD_TEXT_CUT ? nvtx_long_id(w, spool, row->text, row->text_bytes, flags)
					: strings_id(&w->strings, row->text, row->text_bytes);
}

_Static_assert(NVTX_RANGE_PAYLOAD == NVTX_RANGE_DOMAIN + 5 &&
		NVTX_START_END_PAYLOAD == NVTX_START_END_DOMAIN + 5,
	"attributes_set() counts on the order of these fields");

void nvtx_row_fill(struct writer *w, struct spool *spool, struct batch *b, uint32_t kind,
	const struct nvtx_row *row)
{
	uint32_t domain = nvtx_name_id(w, spool, (uint32_t)(row->names >> 32));
	uint64_t flags = row->flags;
	uint32_t text = row->text_bytes ? text_id(w, spool, row, &flags)
					: nvtx_name_id(w, spool, (uint32_t)row->names);
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

/* ---- records ---- */

/* Takes `bytes` off the front of a payload; zeros where it is too short. */
static void payload_take(const uint8_t **at, uint32_t *left, void *to, uint32_t bytes)
{
	uint32_t have = *left < bytes ? *left : bytes;
	memset(to, 0, bytes);
	memcpy(to, *at, have);
	*at += have;
	*left -= have;
}

void nvtx_name_put(struct segment *s, uint32_t bytes)
{
	struct nvtx_named named;
	const struct record *r = &s->records[s->at];
	const uint8_t *at = (const uint8_t *)(r + 1);
	uint64_t ns = segment_ns(s, r->tick), id = r->b;
	uint32_t domain_ref = (uint32_t)(r->a >> 32);
	payload_take(&at, &bytes, &named, sizeof(named));
	uint32_t name = strings_id(&s->w->strings, (const char *)at, bytes);
	if (!name)
		name = nvtx_name_id(s->w, s->spool, (uint32_t)r->a);
	uint32_t domain = nvtx_name_id(s->w, s->spool, domain_ref);
	struct batch *b = segment_row_add(s, EVENT_NVTX_NAME, ns);
	batch_set(b, NVTX_NAME_WHAT, named.what);
	batch_set(b, NVTX_NAME_DOMAIN, domain);
	batch_set(b, NVTX_NAME_IDENTIFIER, id);
	batch_set(b, NVTX_NAME_TYPE, named.type);
	batch_set(b, NVTX_NAME_NAME, name);
	s->records = spool_at(s->spool, s->offset, CHUNK_BYTES); /* may lie elsewhere now */
}

/* ---- what was open ---- */

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

typedef void (*visit_fn)(void *user, uint32_t kind, const struct nvtx_row *row);

static bool overlap(uint64_t offset, uint64_t other)
{
	return other && offset < other + NVTX_RANGES_BYTES && other < offset + NVTX_RANGES_BYTES;
}

/* Each lane has its own memory for them. */
static bool is_anothers(const struct spool *spool, uint64_t offset)
{
	for (uint32_t i = 0; i < spool->lane_count; i++)
		if (overlap(offset, spool->lanes[i]->ranges))
			return true;
	return false;
}

static void frames_each(
	struct spool *spool, struct lane_view *view, uint64_t end_tick, visit_fn visit, void *user)
{
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
			frame_read(&row, f, bytes, end_tick);
			visit(user, EVENT_NVTX_RANGE, &row);
		}
		at += (uint32_t)((sizeof(*f) + bytes + 7) & ~7u);
	}
}

/* Is its record in the lane of the thread that ended it? */
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

static void span_visit(struct spool *spool, const struct nvtx_span *s, uint64_t end_tick,
	visit_fn visit, void *user)
{
	static struct nvtx_row row;
	uint32_t bytes = s->text_bytes;
	if (!s->id || s->flags & FRAME_SILENT || bytes > NVTX_TEXT_ROOM_BYTES)
		return;
	row = (struct nvtx_row){.tick = s->tick,
		.ticks = end_tick > s->tick ? end_tick - s->tick : 0,
		.names = s->names,
		.attributes = s->attributes,
		.id = s->id,
		.start_tid = s->tid,
		.flags = RECORD_UNFINISHED | (s->flags & FRAME_CUT ? RECORD_TEXT_CUT : 0),
		.text_bytes = s->flags & FRAME_NAMED ? 0 : bytes};
	memcpy(row.text, s->text, bytes);
	if (!span_is_recorded(spool, s))
		visit(user, EVENT_NVTX_START_END, &row);
}

static uint64_t span_chunk(struct spool *spool, uint32_t number)
{
	return __atomic_load_n(&spool_header(spool)->nvtx_span_chunk[number], __ATOMIC_ACQUIRE);
}
_Static_assert(NVTX_RANGES_BYTES == CHUNK_BYTES, "both are compared by overlap()");

/* Those that a thread of this lane started. */
static void spans_each(struct spool *spool, const struct lane_view *view, uint64_t end_tick,
	visit_fn visit, void *user)
{
	for (uint32_t number = 0; number < NVTX_SPAN_CHUNKS_MAX; number++) {
		uint64_t offset = span_chunk(spool, number);
		for (uint32_t other = 0; offset && other < number; other++)
			if (overlap(offset, span_chunk(spool, other)))
				offset = 0; /* told already */
		for (uint32_t i = 0; offset && i < NVTX_SPANS_PER_CHUNK; i++) {
			const struct nvtx_span *chunk =
				(const void *)spool_at(spool, offset, CHUNK_BYTES);
			if (!chunk)
				return;
			if (chunk[i].lane != view->index)
				continue;
			const struct nvtx_span copy = chunk[i];
			if (copy.lane == view->index)
				span_visit(spool, &copy, end_tick, visit, user);
		}
	}
}

void nvtx_open_each(
	struct spool *spool, struct lane_view *view, uint64_t end_tick, visit_fn visit, void *user)
{
	frames_each(spool, view, end_tick, visit, user);
	spans_each(spool, view, end_tick, visit, user);
}
