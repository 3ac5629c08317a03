/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gaps.c - rows for events that were dropped.
 */
#include "writer/lane/gaps.h"

/* Fill the row of a gap, whose first event was at `first_ns`. */
static void gap_fill(
	struct batch *b, uint64_t first_ns, uint64_t last_ns, uint64_t count, uint64_t reason)
{
	batch_set(b, GAP_DURATION, last_ns > first_ns ? last_ns - first_ns : 0);
	batch_set(b, GAP_COUNT, count);
	batch_set(b, GAP_REASON, reason);
}

static void gap_count(struct writer *w, struct lane_view *view, uint64_t count)
{
	view->gaps += count;
	w->report.block.num_dropped += count;
	w->totals.dropped += count;
}

uint32_t gap_put(struct segment *s, const struct record_at *at)
{
	const struct record *r = at->r;
	uint64_t count = r->a & MASK_48, reason = r->a >> 48;
	uint64_t first_ns = segment_ns(s, r->b), last_ns = segment_ns(s, r->tick);
	gap_fill(segment_row_add(s, EVENT_GAP, first_ns), first_ns, last_ns, count, reason);
	gap_count(s->w, s->view, count);
	return at->slots;
}

void gap_open_put(struct ending *e)
{
	uint64_t count = e->lane->gap_count, reason = e->lane->gap_reason;
	if (!count)
		return;
	uint64_t first_ns = ending_ns(e, e->lane->gap_first_tick),
		 last_ns = ending_ns(e, e->lane->gap_last_tick);
	gap_fill(ending_row_add(e, EVENT_GAP, first_ns), first_ns, last_ns, count, reason);
	gap_count(e->w, e->view, count);
}
