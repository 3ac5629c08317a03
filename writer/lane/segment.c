/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment.c - conversion of the records of one chunk to rows.
 */
#include "writer/lane/segment.h"

#include "writer/base/output.h"
#include "writer/base/writer.h"

uint64_t segment_ns(struct segment *s, uint64_t tick)
{
	return s->monotonic ? tick : clockfit_ns(&s->w->clock.fit, tick);
}

static void note_time(struct writer *w, uint64_t first_ns, uint64_t last_ns)
{
	if (first_ns < w->rows.first_ns)
		w->rows.first_ns = first_ns;
	if (last_ns > w->rows.last_ns)
		w->rows.last_ns = last_ns;
}

void segment_run_end(struct segment *s, uint32_t slot)
{
	struct writer *w = s->w;
	struct tally *tally = segment_tally(s);
	uint64_t rows = 0;
	for (uint32_t kind = 1; kind < EVENT_KINDS; kind++) {
		struct batch *b = w->rows.batches[kind];
		if (!b->count)
			continue;
		b->process = s->view->owner ? s->view->owner : s->spool->id;
		b->tid = s->view->tid;
		block_put_batch(&w->report.block, b);
		rows += b->count;
		b->count = 0;
	}
	block_note_events(&w->report.block, rows, w->rows.first_ns, w->rows.last_ns);
	tally->produced += slot - s->run - s->overhead;
	tally->written += rows;
	w->totals.events += rows;
	s->spool->events += rows;
	w->rows.first_ns = UINT64_MAX;
	w->rows.last_ns = 0;
	s->run = slot;
	s->overhead = 0;
}

struct batch *segment_row_add(struct segment *s, enum event_kind kind, uint64_t ns)
{
	struct batch *b = s->w->rows.batches[kind];
	while (!batch_row_add(b, ns))
		segment_run_end(s, s->at);
	note_time(s->w, ns, ns);
	return b;
}

bool segment_cut(struct segment *s)
{
	uint64_t chunk = s->view->position / CHUNK_BYTES;
	if (!block_is_full(&s->w->report.block, &s->w->report.strings))
		return true;
	segment_run_end(s, s->at);
	s->view->position = chunk * CHUNK_BYTES + (uint64_t)s->at * RECORD_BYTES;
	lane_mark(s->w, s->spool, s->view);
	s->error = writer_make_room(s->w);
	segment_reload(s);
	return !s->error;
}

void lane_mark(struct writer *w, struct spool *spool, struct lane_view *view)
{
	Libtrace__LanePosition p = LIBTRACE__LANE_POSITION__INIT;
	p.has_process = p.has_lane = p.has_position = p.has_tid = p.has_events = 1;
	p.process = spool->id;
	p.lane = view->index;
	p.position = view->position;
	p.tid = view->tid;
	p.events = view->own.written;
	p.has_owner = p.has_owner_events = view->owner != 0;
	p.owner = view->owner;
	p.owner_events = view->guest.written;
	p.has_summarized = (p.summarized = view->own.summarized) != 0;
	p.has_abandoned = (p.abandoned = view->own.abandoned) != 0;
	p.has_impossible_times = (p.impossible_times = view->own.impossible) != 0;
	p.has_unfinished = (p.unfinished = view->own.unfinished) != 0;
	p.has_callchains = (p.callchains = view->own.callchains) != 0;
	p.has_callchains_cut = (p.callchains_cut = view->own.callchains_cut) != 0;
	p.has_closed = p.closed = view->closed;
	block_put_position(&w->report.block, &p);
	view->touched = true;
}

void lane_rows_put(struct writer *w, struct spool *spool, struct lane_view *view, struct batch *b,
	uint32_t tid, uint64_t first_ns, uint64_t last_ns)
{
	if (!b->count)
		return;
	b->process = spool->id;
	b->tid = tid;
	block_put_batch(&w->report.block, b);
	block_note_events(&w->report.block, b->count, first_ns, last_ns);
	view->own.produced += b->count;
	view->own.written += b->count;
	w->totals.events += b->count;
	b->count = 0;
	lane_mark(w, spool, view);
}
