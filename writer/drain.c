/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.c - conversion of records of a lane to rows of batches, a chunk at a time.
 */
#include "writer/drain.h"

#include <string.h>

#include "common/schema/functions.h"
#include "writer/base/output.h"
#include "writer/lane/segment.h"
#include "writer/lane/threads.h"
#include "writer/osrt/calls.h"
#include "writer/process/process.h"
#include "writer/sources.h"

#define SLOTS_PER_CHUNK (CHUNK_BYTES / RECORD_BYTES)
_Static_assert(SLOTS_PER_CHUNK <= BATCH_ROWS, "a chunk must fit a batch");

/* Count a slot before the head that was never written: two threads took the same lane, or the
 * process moved its head. */
static uint32_t unwritten_add(struct segment *s)
{
	s->overhead++;
	s->view->unwritten++;
	return 1;
}

/* A record that is part of the record of a call's words. It is copied, since the spool may be
 * remapped. kind 0: there is none. */
struct part {
	struct record record;
	uint8_t payload[FUNCTION_ADDED_MAX * sizeof(uint64_t)];
	uint32_t kind, bytes;
};

/* Find the part. Return false if there cannot be such a one. Only these may be parts: functions for
 * other kinds also read the records that follow. */
static bool part_find(const struct segment *s, const struct record_at *at, struct part *ret_part)
{
	const uint64_t b = at->r->b;
	uint32_t words_bytes = (uint16_t)b * (uint32_t)sizeof(uint64_t);
	ret_part->kind = (uint32_t)(b >> 16 & RECORD_KIND_MASK);
	if (at->kind != REC_FUNCTION_WORDS || !ret_part->kind) {
		ret_part->kind = 0;
		return true;
	}
	if (ret_part->kind != REC_MPI_CALL || at->bytes < words_bytes ||
		at->bytes - words_bytes > sizeof(ret_part->payload) || s->at + at->slots >= s->end)
		return false;
	const struct record call = at->r[at->slots];
	ret_part->bytes = at->bytes - words_bytes;
	memcpy(ret_part->payload, at->payload + words_bytes, ret_part->bytes);
	ret_part->record = (struct record){call.tick,
		(uint64_t)ret_part->bytes << RECORD_LENGTH_SHIFT | ret_part->kind, b >> 32,
		call.word >> RECORD_LENGTH_SHIFT};
	return true;
}

/* Add the rows of the part, which take no slot of their own. */
static bool part_add(struct segment *s, const struct part *part)
{
	record_put *put = part->kind ? sources_record(part->kind) : NULL;
	const struct record_at at = {.r = &part->record,
		.payload = part->payload,
		.kind = part->kind,
		.bytes = part->bytes,
		.slots = 1};
	s->overhead -= part->kind != 0;
	return !part->kind || (put && put(s, &at));
}

/* Add the rows of any record except a call. Return the number of slots that it takes; 0 if it
 * cannot be a record, or s->error is set. */
static uint32_t record_add(struct segment *s, const struct record *r, uint64_t word)
{
	uint32_t kind = record_kind_of(word), left = s->end - s->at;
	uint64_t bytes = kind == REC_FUNCTION ? 0 : word >> RECORD_LENGTH_SHIFT;
	if (kind == REC_PAD) {
		s->overhead += left;
		return left;
	}
	if (!word && !r->tick)
		return unwritten_add(s);
	if (bytes > (uint64_t)(left - 1) * RECORD_BYTES)
		return 0;
	const struct record_at at = {.r = r,
		.payload = (const uint8_t *)(r + 1),
		.kind = kind,
		.bytes = (uint32_t)bytes,
		.slots = 1 + (uint32_t)((bytes + RECORD_BYTES - 1) / RECORD_BYTES)};
	record_put *put = sources_record(kind);
	struct part part;
	if (!part_find(s, &at, &part))
		return 0;
	uint32_t slots = put ? put(s, &at) : 0;
	if (slots && !part_add(s, &part))
		return 0;
	s->overhead += slots ? at.slots - 1 : 0;
	return slots;
}

/* Add the rows of all records. Return false at an invalid record. A callchain belongs to the
 * record after it, so the block is not cut between them. */
static bool segment_decode(struct segment *s)
{
	struct batch *calls = s->w->rows.batches[EVENT_OSRT_CALL];
	uint32_t functions = fn_count();
	while (s->at < s->end && s->records) {
		const struct record *r = &s->records[s->at];
		uint64_t word = __atomic_load_n(&r->word, __ATOMIC_RELAXED);
		uint32_t kind = (uint32_t)(word & RECORD_KIND_MASK);
		if (__builtin_expect(!s->view->tid, 0) && kind != REC_THREAD_START)
			thread_guess(s);
		if (__builtin_expect(kind && kind < functions, 1)) {
			if (__builtin_expect(!batch_room(calls), 0))
				segment_run_end(s, s->at);
			calls_put(s, calls, functions);
			continue;
		}
		if ((!s->callchain || kind == REC_CALLCHAIN) && !segment_cut(s))
			return true;
		if (!s->records)
			return false;
		uint32_t slots = record_add(s, &s->records[s->at], word);
		if (!slots)
			return s->error;
		s->at += slots;
		if (kind != REC_CALLCHAIN)
			s->callchain = 0;
	}
	return s->records;
}

static void segment_init(
	struct segment *s, struct writer *w, struct spool *spool, struct lane_view *view)
{
	const struct spool_header *h = spool_header(spool);
	*s = (struct segment){.w = w, .spool = spool, .view = view};
	s->monotonic = h->clock_kind != CLOCK_KIND_TSC;
	s->least_tick = h->first.tick;
	s->most_tick = w->clock.other_boot ? UINT64_MAX
		: s->monotonic             ? w->clock.now.mono_ns
					   : w->clock.now.tick;
	w->rows.first_ns = UINT64_MAX;
	w->rows.last_ns = 0;
}

/* Drain one segment, up to `head` or the end of the chunk. */
static int segment_drain(
	struct writer *w, struct spool *spool, struct lane_view *view, uint64_t head)
{
	struct lane *lane = lane_of(spool, view);
	uint64_t number = view->position / CHUNK_BYTES, chunk_end = (number + 1) * CHUNK_BYTES;
	uint64_t end = head < chunk_end ? head : chunk_end;
	uint64_t offset = lane ? lane_chunk_offset(lane, number) : 0;
	struct segment s;
	segment_init(&s, w, spool, view);
	s.offset = offset;
	segment_reload(&s); /* remaps the file, so earlier pointers into it are invalid */
	s.at = s.run = (uint32_t)(view->position % CHUNK_BYTES / RECORD_BYTES);
	s.end = (uint32_t)((end - number * CHUNK_BYTES) / RECORD_BYTES);
	bool sound = s.records && segment_decode(&s);
	if (s.latest_tick > spool->latest_tick)
		spool->latest_tick = s.latest_tick;
	if (s.error)
		return s.error; /* the records before it are in the block */
	if (s.records)
		segment_run_end(&s, s.at);
	view->position = number * CHUNK_BYTES + (uint64_t)s.at * RECORD_BYTES;
	if (!sound)
		lane_damage(spool, view);
	lane_mark(w, spool, view);
	return writer_make_room(w);
}

int lane_drain(struct writer *w, struct spool *spool, struct lane_view *view, uint64_t bytes)
{
	uint64_t begin = view->position;
	int error = 0;
	while (!error && !view->damaged && view->position < view->head &&
		view->position - begin < bytes)
		error = segment_drain(w, spool, view, view->head);
	return error;
}

int lane_finish(struct writer *w, struct spool *spool, struct lane_view *view, uint64_t end_tick)
{
	static struct ending e; /* half a kilobyte of records, kept off the stack */
	ending_begin(&e, w, spool, view, end_tick);
	sources_lane_end(&e);
	ending_encode(&e);
	if (view->owner)
		process_guest_end(w, spool, view, ending_ns(&e, end_tick), true);
	view->owner = 0;
	view->closed = true;
	lane_mark(w, spool, view);
	return writer_make_room(w);
}
