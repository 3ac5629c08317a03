/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - events from the calls of library functions.
 */
#include "writer/functions/calls.h"

#include "writer/base/names.h"

#define FLAGS_MASK 15u

static void names_set(struct writer *w, struct spool *spool, uint64_t names, uint32_t *ret_function,
	uint32_t *ret_library)
{
	*ret_function = spool_name_id(w, spool, (uint32_t)names);
	*ret_library = spool_name_id(w, spool, (uint32_t)(names >> 32));
}

uint32_t function_call_put(struct segment *s, const struct record_at *at)
{
	const struct record r = *at->r; /* a copy: a lookup of a name may remap the spool */
	uint64_t ticks = r.word >> RECORD_LENGTH_SHIFT,
		 flags = r.word >> RECORD_FLAGS_SHIFT & FLAGS_MASK;
	uint64_t start = segment_ns(s, r.tick), end = segment_ns(s, r.tick + ticks);
	uint32_t function, library;
	names_set(s->w, s->spool, r.b, &function, &library);
	struct batch *b = segment_row_add(s, EVENT_FUNCTION_CALL, start);
	batch_set(b, FUNCTION_CALL_DURATION, end > start ? end - start : 0);
	batch_set(b, FUNCTION_CALL_FUNCTION, function);
	batch_set(b, FUNCTION_CALL_LIBRARY, library);
	batch_set(b, FUNCTION_CALL_RETURN, r.a);
	batch_set(b, FUNCTION_CALL_LEVEL, (r.word & RECORD_KIND_MASK) - REC_FUNCTION);
	batch_set(b, FUNCTION_CALL_FLAGS, flags);
	batch_set(b, FUNCTION_CALL_CALLCHAIN, s->callchain);
	batch_set(b, FUNCTION_CALL_CALLCHAIN_METHOD, s->callchain ? s->callchain_method : 0);
	s->callchain = 0;
	segment_note_end(s, end > start ? end : start);
	if (r.tick + ticks > s->latest_tick)
		s->latest_tick = r.tick + ticks;
	segment_tally(s)->impossible += r.tick < s->least_tick || r.tick + ticks > s->most_tick;
	segment_tally(s)->abandoned += (flags & RECORD_ABANDONED) != 0;
	segment_tally(s)->unfinished += (flags & RECORD_UNFINISHED) != 0;
	segment_reload(s);
	return at->slots;
}

static void call_add(struct ending *e, uint64_t tick, uint64_t end_tick, uint64_t names,
	uint32_t level, uint64_t flags, uint64_t value)
{
	uint64_t ns = ending_ns(e, tick), end_ns = ending_ns(e, end_tick);
	uint32_t function, library;
	names_set(e->w, e->spool, names, &function, &library);
	struct batch *b = ending_row_add(e, EVENT_FUNCTION_CALL, ns);
	batch_set(b, FUNCTION_CALL_DURATION, end_ns > ns ? end_ns - ns : 0);
	batch_set(b, FUNCTION_CALL_FUNCTION, function);
	batch_set(b, FUNCTION_CALL_LIBRARY, library);
	batch_set(b, FUNCTION_CALL_RETURN, value);
	batch_set(b, FUNCTION_CALL_LEVEL, level);
	batch_set(b, FUNCTION_CALL_FLAGS, flags);
	ending_note_end(e, end_ns);
	ending_tally(e)->unfinished += (flags & RECORD_UNFINISHED) != 0;
	ending_tally(e)->abandoned += (flags & RECORD_ABANDONED) != 0;
}

/* Add the calls of signal handlers that were not moved into the lane. */
static void nested_put(struct ending *e)
{
	uint32_t number = e->lane->nested_moved, count = e->lane->nested_count - number;
	for (uint32_t i = 0; e->lane && i < count && i < NESTED_RECORDS; i++, number++) {
		const struct record r = e->lane->nested[number % NESTED_RECORDS];
		uint64_t kind = r.word & RECORD_KIND_MASK;
		if (e->lane->nested_whole[number % NESTED_RECORDS] != number + 1 || !r.tick ||
			record_kind_of(r.word) != REC_FUNCTION ||
			ending_is_recorded(e, r.tick, kind))
			continue;
		call_add(e, r.tick, r.tick + (r.word >> RECORD_LENGTH_SHIFT), r.b,
			(uint32_t)kind - REC_FUNCTION,
			(r.word >> RECORD_FLAGS_SHIFT & FLAGS_MASK) | RECORD_NESTED, r.a);
		e->lane = lane_of(e->spool, e->view); /* the spool may have been remapped */
	}
}

void functions_open_put(struct ending *e)
{
	uint64_t offset = e->lane->functions, head = e->view->position;
	if (!ending_has_thread(e))
		return;
	nested_put(e);
	for (uint32_t i = 0; offset && i < FUNCTION_STACK_MAX; i++) {
		const struct function_stack *stack =
			spool_at(e->spool, offset, FUNCTION_STACK_BYTES);
		if (!stack || i >= stack->depth)
			return;
		const struct function_open open = stack->open[i];
		if (!open.tick || open.tick > e->end_tick ||
			(open.recorded_at && open.recorded_at <= head))
			continue;
		call_add(e, open.tick, e->end_tick, open.names,
			i < FUNCTION_LEVEL_MAX ? i : FUNCTION_LEVEL_MAX, RECORD_UNFINISHED, 0);
	}
}
