/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c - calls of the OS runtime that a dead process left without a record.
 */
#include "writer/osrt/open.h"

#include "common/schema/functions.h"
#include "writer/lane/segment.h"

static void call_add(struct ending *e, uint64_t tick, uint64_t ticks, uint32_t fn, uint64_t flags,
	uint64_t a, uint64_t b48)
{
	uint64_t ns = ending_ns(e, tick), end_ns = ending_ns(e, tick + ticks);
	bool lock = fn_is_lock(fn);
	struct batch *b = ending_row_add(e, EVENT_OSRT_CALL, ns);
	batch_set(b, OSRT_CALL_DURATION, end_ns > ns ? end_ns - ns : 0);
	batch_set(b, OSRT_CALL_FUNCTION, strings_function_id(&e->w->report.strings, fn));
	batch_set(b, OSRT_CALL_RETURN, lock ? (uint64_t)(int64_t)(int32_t)a : a);
	batch_set(b, OSRT_CALL_HOLDER, lock ? a >> 32 : 0);
	batch_set(b, OSRT_CALL_ERRNO, b48 >> 48);
	batch_set(b, OSRT_CALL_OBJECT, b48 & MASK_48);
	batch_set(b, OSRT_CALL_FLAGS, flags);
	ending_note_end(e, end_ns);
	ending_tally(e)->unfinished += (flags & RECORD_UNFINISHED) != 0;
	ending_tally(e)->abandoned += (flags & RECORD_ABANDONED) != 0;
}

static void open_finish(struct ending *e, const struct open_call *shared)
{
	struct open_call open = *shared;
	bool is_unsure = open.kind & OPEN_UNSURE;
	open.kind &= ~OPEN_UNSURE;
	if (spool_header(e->spool)->osrt_off || !open.kind || !open.tick ||
		open.kind >= fn_count() || open.tick > e->end_tick ||
		open_call_is_summed(&open, e->lane->summed) ||
		ending_is_recorded(e, open.tick, open.kind))
		return;
	if (is_unsure) {
		e->view->unsure++;
		return;
	}
	call_add(e, open.tick, e->end_tick - open.tick, (uint32_t)open.kind, RECORD_UNFINISHED, 0,
		0);
}

static void nested_finish(struct ending *e)
{
	uint32_t number = e->lane->nested_moved, count = e->lane->nested_count - number;
	for (uint32_t i = 0; i < count && i < NESTED_RECORDS; i++, number++) {
		struct record r = e->lane->nested[number % NESTED_RECORDS];
		uint64_t kind = r.word & RECORD_KIND_MASK;
		if (e->lane->nested_whole[number % NESTED_RECORDS] != number + 1 || !kind ||
			!r.tick || kind >= fn_count() || ending_is_recorded(e, r.tick, kind))
			continue;
		uint64_t flags = (r.word >> RECORD_FLAGS_SHIFT & 15) | RECORD_NESTED;
		call_add(e, r.tick, r.word >> RECORD_LENGTH_SHIFT, (uint32_t)kind, flags, r.a, r.b);
	}
}

/* Return true if the process was writing this sum as a record when it ended, and the record is in
 * the lane. */
static bool sum_is_recorded(const struct ending *e, uint32_t fn)
{
	return e->lane->flushing == fn + 1 && e->recent_count &&
		(e->recent[0].word & RECORD_KIND_MASK) == REC_SUMMARY && e->recent[0].a >> 48 == fn;
}

static void sums_finish(struct ending *e)
{
	bool monotonic = spool_header(e->spool)->clock_kind != CLOCK_KIND_TSC;
	if (spool_header(e->spool)->osrt_off)
		return;
	for (uint32_t fn = 0; fn < fn_count(); fn++) {
		struct fn_sum sum = e->lane->sums[fn];
		sum.count = FN_SUM_CALLS(sum.count);
		if (!sum.count || sum_is_recorded(e, fn))
			continue;
		struct batch *b = ending_row_add(e, EVENT_OSRT_SUMMARY, ending_ns(e, e->end_tick));
		batch_set(b, OSRT_SUMMARY_FUNCTION, strings_function_id(&e->w->report.strings, fn));
		batch_set(b, OSRT_SUMMARY_COUNT, sum.count);
		batch_set(b, OSRT_SUMMARY_TOTAL,
			monotonic ? sum.ticks : clockfit_scale(&e->w->clock.fit, sum.ticks));
		ending_tally(e)->summarized += sum.count;
	}
}

void osrt_open_put(struct ending *e)
{
	if (!ending_has_thread(e))
		return;
	uint32_t depth = e->lane->open_depth < OPEN_CALLS ? e->lane->open_depth : OPEN_CALLS;
	for (uint32_t i = 0; i < depth; i++)
		open_finish(e, &e->lane->open_stack[i]);
	if (e->lane->open.sp)
		open_finish(e, &e->lane->open);
	nested_finish(e);
	sums_finish(e);
}
