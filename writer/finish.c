/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finish.c - the last rows of a lane whose process has ended: what was still open, nested, summed
 * or missing.
 *
 * The process may have died between two stores, so each of these may also be among the last records
 * of the lane: those are looked at before a row is made.
 */
#include <string.h>

#include "common/cuda_spool.h"
#include "common/schema/functions.h"
#include "writer/launches.h"
#include "writer/writer.h"

#define MASK_48 ((UINT64_C(1) << 48) - 1)
#define LOOK_BACK                      \
	(NESTED_RECORDS + OPEN_CALLS + \
		4u) /* records that one interrupted step can have left behind */

struct finish {
	struct writer *w;
	struct spool *spool;
	struct lane_view *view;
	const struct lane *lane;
	uint64_t end_tick;
	struct record recent[LOOK_BACK];
	uint32_t recent_count;
	uint64_t rows, dropped;
	uint64_t first_ns, last_ns;
};

/* The slots before the position, as far as their chunk still holds them. Payloads among them are
 * taken for records: harmless. */
static void recent_load(struct finish *f)
{
	uint64_t position = f->view->position;
	while (f->recent_count < LOOK_BACK && position >= RECORD_BYTES) {
		position -= RECORD_BYTES;
		uint64_t offset = f->lane->chunk[position / CHUNK_BYTES % LANE_CHUNKS_MAX];
		const uint8_t *chunk = spool_at(f->spool, offset, CHUNK_BYTES);
		f->lane = lane_of(f->spool, f->view); /* the file may have been mapped anew */
		if (!chunk || !f->lane)
			return;
		memcpy(&f->recent[f->recent_count++], chunk + position % CHUNK_BYTES, RECORD_BYTES);
	}
}

static bool is_recorded(const struct finish *f, uint64_t tick, uint64_t kind)
{
	for (uint32_t i = 0; i < f->recent_count; i++)
		if (f->recent[i].tick == tick && (f->recent[i].word & RECORD_KIND_MASK) == kind)
			return true;
	return false;
}

static uint64_t finish_ns(const struct finish *f, uint64_t tick)
{
	return spool_ns(f->w, f->spool, tick);
}

static struct tally *finish_tally(struct finish *f)
{
	return f->view->owner ? &f->view->guest : &f->view->own;
}

/* Rows of the batch go into the block. */
static void batch_flush(struct finish *f, struct batch *b)
{
	b->process = f->view->owner ? f->view->owner : f->spool->id;
	b->tid = f->view->tid;
	block_put_batch(&f->w->block, b);
	f->rows += b->count;
	b->count = 0;
}

static struct batch *row_add(struct finish *f, enum event_kind kind, uint64_t ns)
{
	struct batch *b = f->w->batches[kind];
	while (!batch_row_add(b, ns))
		batch_flush(f, b);
	f->first_ns = ns < f->first_ns ? ns : f->first_ns;
	f->last_ns = ns > f->last_ns ? ns : f->last_ns;
	finish_tally(f)->produced++;
	return b;
}

static void call_add(struct finish *f, uint64_t tick, uint64_t ticks, uint32_t fn, uint64_t flags,
	uint64_t a, uint64_t b48)
{
	uint64_t ns = finish_ns(f, tick), end_ns = finish_ns(f, tick + ticks);
	bool lock = fn_is_lock(fn);
	struct batch *b = row_add(f, EVENT_OSRT_CALL, ns);
	batch_set(b, OSRT_CALL_DURATION, end_ns > ns ? end_ns - ns : 0);
	batch_set(b, OSRT_CALL_FUNCTION, strings_function_id(&f->w->strings, fn));
	batch_set(b, OSRT_CALL_RETURN, lock ? (uint64_t)(int64_t)(int32_t)a : a);
	batch_set(b, OSRT_CALL_HOLDER, lock ? a >> 32 : 0);
	batch_set(b, OSRT_CALL_ERRNO, b48 >> 48);
	batch_set(b, OSRT_CALL_OBJECT, b48 & MASK_48);
	batch_set(b, OSRT_CALL_FLAGS, flags);
	f->last_ns = end_ns > f->last_ns ? end_ns : f->last_ns;
	finish_tally(f)->unfinished += (flags & RECORD_UNFINISHED) != 0;
	finish_tally(f)->abandoned += (flags & RECORD_ABANDONED) != 0;
}

static void open_finish(struct finish *f, const struct open_call *shared)
{
	struct open_call open = *shared;
	if (spool_header(f->spool)->osrt_off || !open.kind || !open.tick ||
		open.kind >= fn_count() || open.tick > f->end_tick ||
		is_recorded(f, open.tick, open.kind))
		return;
	call_add(f, open.tick, f->end_tick - open.tick, (uint32_t)open.kind, RECORD_UNFINISHED, 0,
		0);
}

static void nested_finish(struct finish *f)
{
	uint32_t count =
		f->lane->nested_count < NESTED_RECORDS ? f->lane->nested_count : NESTED_RECORDS;
	for (uint32_t i = 0; i < count; i++) {
		struct record r = f->lane->nested[i];
		uint64_t kind = r.word & RECORD_KIND_MASK;
		if (!r.word || !r.tick || kind >= fn_count() || is_recorded(f, r.tick, kind))
			continue;
		uint64_t flags = (r.word >> RECORD_FLAGS_SHIFT & 15) | RECORD_NESTED;
		call_add(f, r.tick, r.word >> RECORD_LENGTH_SHIFT, (uint32_t)kind, flags, r.a, r.b);
	}
}

/* The sum that was on its way into a record may be there already. */
static bool sum_is_recorded(const struct finish *f, uint32_t fn)
{
	return f->lane->flushing == fn + 1 && f->recent_count &&
		(f->recent[0].word & RECORD_KIND_MASK) == REC_SUMMARY && f->recent[0].a >> 48 == fn;
}

static void sums_finish(struct finish *f)
{
	bool monotonic = spool_header(f->spool)->clock_kind != CLOCK_KIND_TSC;
	if (spool_header(f->spool)->osrt_off)
		return;
	for (uint32_t fn = 0; fn < fn_count(); fn++) {
		struct fn_sum sum = f->lane->sums[fn];
		if (!sum.count || sum_is_recorded(f, fn))
			continue;
		struct batch *b = row_add(f, EVENT_OSRT_SUMMARY, finish_ns(f, f->end_tick));
		batch_set(b, OSRT_SUMMARY_FUNCTION, strings_function_id(&f->w->strings, fn));
		batch_set(b, OSRT_SUMMARY_COUNT, sum.count);
		batch_set(b, OSRT_SUMMARY_TOTAL,
			monotonic ? sum.ticks : clockfit_scale(&f->w->clock, sum.ticks));
		finish_tally(f)->summarized += sum.count;
	}
}

static void range_finish(void *user, uint32_t kind, const struct nvtx_row *row)
{
	struct finish *f = user;
	uint64_t ns = finish_ns(f, row->tick), end_ns = finish_ns(f, row->tick + row->ticks);
	uint32_t duration =
		kind == EVENT_NVTX_RANGE ? NVTX_RANGE_DURATION : NVTX_START_END_DURATION;
	struct batch *b = row_add(f, kind, ns);
	batch_set(b, duration, end_ns > ns ? end_ns - ns : 0);
	nvtx_row_fill(f->w, f->spool, b, kind, row);
	f->last_ns = end_ns > f->last_ns ? end_ns : f->last_ns;
	finish_tally(f)->unfinished++;
	launches_note_range(f->spool,
		&(struct launch_span){.tick = row->tick,
			.end_tick = row->tick + row->ticks,
			.is_span = kind == EVENT_NVTX_START_END,
			.tid = kind == EVENT_NVTX_START_END ? row->start_tid : f->view->tid,
			.id = row->id,
			.domain = (uint32_t)(row->names >> 32),
			.name = row->text_bytes ? 0 : (uint32_t)row->names,
			.text = row->text,
			.text_bytes = row->text_bytes < NVTX_TEXT_BYTES ? row->text_bytes
									: NVTX_TEXT_BYTES,
			.attributes = row->attributes});
}

/* A CUDA API call that did not return. */
static void cuda_open_finish(struct finish *f)
{
	const struct cuda_open open = f->lane->cuda_open;
	if (!open.tick || open.tick > f->end_tick || is_recorded(f, open.tick, REC_CUDA_API))
		return;
	uint64_t ns = finish_ns(f, open.tick), end_ns = finish_ns(f, f->end_tick);
	struct batch *b = row_add(f, EVENT_CUDA_API, ns);
	batch_set(b, CUDA_API_DURATION, end_ns > ns ? end_ns - ns : 0);
	cuda_open_fill(f->w, f->spool, b, &open);
	f->last_ns = end_ns > f->last_ns ? end_ns : f->last_ns;
	finish_tally(f)->unfinished++;
}

/* What the process counted, once: with the device's lane. */
static void cuda_counts_finish(struct finish *f)
{
	struct cuda_page page;
	uint64_t ns = finish_ns(f, f->end_tick);
	if (__atomic_load_n(&f->lane->state, __ATOMIC_ACQUIRE) != LANE_DEVICE ||
		!cuda_page_read(f->spool, &page) ||
		!(page.records || page.api_calls || page.counted_count))
		return; /* it never began */
	for (uint32_t i = 0; i < page.counted_count; i++) {
		const struct cuda_counted *c = &page.counted[i];
		if (!c->count)
			continue;
		struct batch *b = row_add(f, EVENT_CUDA_API_SUMMARY, ns);
		cuda_counted_fill(f->w, f->spool, b, c);
		finish_tally(f)->summarized += c->count;
	}
	cuda_receipt_fill(row_add(f, EVENT_CUDA_RECEIPT, ns), &page, &f->spool->cuda);
}

static void gap_finish(struct finish *f)
{
	uint64_t count = f->lane->gap_count, reason = f->lane->gap_reason;
	if (!count)
		return;
	uint64_t first_ns = finish_ns(f, f->lane->gap_first_tick),
		 last_ns = finish_ns(f, f->lane->gap_last_tick);
	struct batch *b = row_add(f, EVENT_GAP, first_ns);
	batch_set(b, GAP_DURATION, last_ns > first_ns ? last_ns - first_ns : 0);
	batch_set(b, GAP_COUNT, count);
	batch_set(b, GAP_REASON, reason);
	f->view->gaps += count;
	f->dropped += count;
}

/* A thread that has recorded its end but not yet given back the lane is over. */
static bool is_leased(const struct finish *f)
{
	uint32_t state = __atomic_load_n(&f->lane->state, __ATOMIC_ACQUIRE);
	if (state == LANE_PARTING)
		return true;
	return state == LANE_LEASED &&
		!(f->recent_count && (f->recent[0].word & RECORD_KIND_MASK) == REC_THREAD_END &&
			f->recent[0].a == f->lane->tid);
}

static void rows_encode(struct finish *f)
{
	struct writer *w = f->w;
	for (uint32_t kind = 1; kind < EVENT_KINDS; kind++)
		if (w->batches[kind]->count)
			batch_flush(f, w->batches[kind]);
	block_note_events(&w->block, f->rows, f->first_ns, f->last_ns);
	finish_tally(f)->written += f->rows;
	w->block.num_dropped += f->dropped;
	w->total_dropped += f->dropped;
	w->total_events += f->rows;
}

int lane_finish(struct writer *w, struct spool *spool, struct lane_view *view, uint64_t end_tick)
{
	static struct finish f; /* half a kilobyte of records: not on the stack of every caller */
	f = (struct finish){.w = w,
		.spool = spool,
		.view = view,
		.lane = lane_of(spool, view),
		.end_tick = end_tick,
		.first_ns = UINT64_MAX};
	if (f.lane) {
		recent_load(&f);
		if (!view->tid)
			view->tid = f.lane ? f.lane->tid : 0;
	}
	if (f.lane && is_leased(&f)) {
		uint32_t depth = f.lane->open_depth < OPEN_CALLS ? f.lane->open_depth : OPEN_CALLS;
		for (uint32_t i = 0; i < depth; i++)
			open_finish(&f, &f.lane->open_stack[i]);
		open_finish(&f, &f.lane->open);
		nested_finish(&f);
		sums_finish(&f);
		if (f.lane->state != LANE_PARTING) /* else it has been told */
			row_add(&f, EVENT_THREAD_END, finish_ns(&f, end_tick));
	}
	if (f.lane) {
		cuda_open_finish(&f);
		f.lane = lane_of(spool, view); /* the file may have been mapped anew */
		if (f.lane)
			cuda_counts_finish(&f);
		nvtx_open_each(spool, view, end_tick, range_finish, &f);
		f.lane = lane_of(spool, view); /* the file may have been mapped anew */
		gap_finish(&f);
	}
	rows_encode(&f);
	if (view->owner)
		process_guest_end(w, spool, view, finish_ns(&f, end_tick), true);
	view->owner = 0;
	view->closed = true;
	lane_mark(w, spool, view);
	return writer_make_room(w);
}
