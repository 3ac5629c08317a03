/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - calls of functions into columns: the writer's hot path.
 *
 * A record is read twice, and its owner may have changed it in between: what it says is never
 * trusted to be what it said.
 */
#define _GNU_SOURCE
#include <string.h>

#include "writer/segment.h"

/* First use of a function in this file. */
static uint32_t function_learn(struct writer *w, uint32_t fn)
{
	return w->functions[fn].string_id = strings_function_id(&w->strings, fn);
}

/* The hot loop's own copy of what it would otherwise load again after every store. */
struct piece {
	uint64_t tick, span, ns, slope;
};

static inline struct piece piece_of(const struct segment *s)
{
	const struct clockfit *fit = &s->w->clock;
	return s->monotonic ? (struct piece){0, UINT64_MAX, 0, UINT64_C(1) << CLOCKFIT_SHIFT}
			    : (struct piece){fit->tick, fit->span, fit->ns, fit->slope};
}

static inline uint64_t piece_scale(const struct piece *p, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * p->slope >> CLOCKFIT_SHIFT);
}

/* A call that does not lie within the piece in use. */
static __attribute__((noinline)) void times_convert(struct segment *s, uint64_t tick,
	uint64_t ticks, uint64_t *ret_start, uint64_t *ret_duration)
{
	*ret_duration = clockfit_duration_ns(&s->w->clock, tick, ticks);
	*ret_start = clockfit_ns(&s->w->clock, tick);
}

static void note_flags(struct segment *s, uint64_t flags)
{
	segment_tally(s)->abandoned += (flags & RECORD_ABANDONED) != 0;
	segment_tally(s)->unfinished += (flags & RECORD_UNFINISHED) != 0;
}

/* The bits in which the records of some calls are not alike. */
struct differences {
	uint64_t word, a, b;
};

/* How many calls follow each other from `r` on. */
static uint32_t calls_scan(const struct record *r, uint32_t count, uint32_t functions,
	struct differences *ret_differences)
{
	const struct record first = *r;
	struct differences d = {0};
	uint32_t i = 0;
	for (; i < count && (r[i].word & RECORD_KIND_MASK) - 1 < functions - 1; i++) {
		d.word |= r[i].word ^ first.word;
		d.a |= r[i].a ^ first.a;
		d.b |= r[i].b ^ first.b;
	}
	*ret_differences = d;
	return i;
}

/* Start and duration of `count` calls from s->at on. */
static void call_times_put(struct segment *s, struct batch *b, uint32_t count)
{
	struct writer *w = s->w;
	struct piece piece = piece_of(s);
	uint64_t first_ns = w->batch_first_ns, last_ns = w->batch_last_ns, latest = s->latest_tick,
		 impossible = 0;
	const uint64_t least = s->least_tick, most = s->most_tick;
	const struct record *r = &s->records[s->at];
	uint64_t *starts = batch_rows(b, OSRT_CALL_START),
		 *durations = batch_rows(b, OSRT_CALL_DURATION);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t tick = r[i].tick, ticks = r[i].word >> RECORD_LENGTH_SHIFT;
		uint64_t start = piece.ns + piece_scale(&piece, tick - piece.tick),
			 duration = piece_scale(&piece, ticks);
		if (__builtin_expect(tick - piece.tick >= piece.span ||
				    tick - piece.tick + ticks >= piece.span,
			    0)) {
			times_convert(s, tick, ticks, &start, &duration);
			piece = piece_of(s);
		}
		starts[i] = start;
		durations[i] = duration;
		first_ns = start < first_ns ? start : first_ns;
		last_ns = start + duration > last_ns ? start + duration : last_ns;
		latest = tick + ticks > latest ? tick + ticks : latest;
		impossible += tick < least || tick + ticks > most;
	}
	w->batch_first_ns = first_ns;
	w->batch_last_ns = last_ns;
	s->latest_tick = latest;
	segment_tally(s)->impossible += impossible;
}

static const struct function_info *function_of(struct writer *w, uint64_t word)
{
	uint32_t fn = (uint32_t)(word & RECORD_KIND_MASK);
	struct function_info *info =
		&w->functions[fn < FN_MAX ? fn : 0]; /* read again: may be any */
	if (__builtin_expect(!info->string_id, 0))
		function_learn(w, (uint32_t)(info - w->functions));
	return info;
}

static void call_functions_put(
	struct segment *s, struct batch *b, uint32_t count, uint64_t differences)
{
	const struct record *r = &s->records[s->at];
	if (differences & RECORD_KIND_MASK) {
		uint64_t *functions = batch_rows(b, OSRT_CALL_FUNCTION);
		for (uint32_t i = 0; i < count; i++)
			functions[i] = function_of(s->w, r[i].word)->string_id;
	} else {
		batch_same(b, OSRT_CALL_FUNCTION, function_of(s->w, r->word)->string_id, count);
	}
	if ((differences | r->word) >> RECORD_FLAGS_SHIFT & 15) {
		uint64_t *flags = batch_rows(b, OSRT_CALL_FLAGS);
		for (uint32_t i = 0; i < count; i++) {
			flags[i] = r[i].word >> RECORD_FLAGS_SHIFT & 15;
			note_flags(s, flags[i]);
		}
	} else {
		batch_same(b, OSRT_CALL_FLAGS, 0, count);
	}
}

/* Locks keep their holder in the upper half of the result. */
static void call_results_put(
	struct segment *s, struct batch *b, uint32_t count, const struct differences *d)
{
	const struct record *r = &s->records[s->at];
	if (!d->a && r->a <= INT32_MAX) {
		batch_same(b, OSRT_CALL_RETURN, r->a, count);
		batch_same(b, OSRT_CALL_HOLDER, 0, count);
		return;
	}
	uint64_t *results = batch_rows(b, OSRT_CALL_RETURN),
		 *holders = batch_rows(b, OSRT_CALL_HOLDER);
	for (uint32_t i = 0; i < count; i++) {
		bool lock = function_of(s->w, r[i].word)->is_lock;
		uint64_t a = r[i].a;
		results[i] = lock ? (uint64_t)(int64_t)(int32_t)a : a;
		holders[i] = lock ? a >> 32 : 0;
	}
}

static void call_objects_put(
	struct segment *s, struct batch *b, uint32_t count, uint64_t differences)
{
	const struct record *r = &s->records[s->at];
	if (differences >> 48) {
		uint64_t *errors = batch_rows(b, OSRT_CALL_ERRNO);
		for (uint32_t i = 0; i < count; i++)
			errors[i] = r[i].b >> 48;
	} else {
		batch_same(b, OSRT_CALL_ERRNO, r->b >> 48, count);
	}
	if (differences & MASK_48) {
		uint64_t *objects = batch_rows(b, OSRT_CALL_OBJECT);
		for (uint32_t i = 0; i < count; i++)
			objects[i] = r[i].b & MASK_48;
	} else {
		batch_same(b, OSRT_CALL_OBJECT, r->b & MASK_48, count);
	}
}

/* Only the first of these calls can have one: its record stands before the call's. */
static void call_chains_put(struct segment *s, struct batch *b, uint32_t count)
{
	struct writer *w = s->w;
	if (s->callchain) {
		uint64_t *chains = batch_rows(b, OSRT_CALL_CALLCHAIN);
		memset(chains, 0, count * sizeof(chains[0]));
		chains[0] = s->callchain;
		w->callchain_method = s->callchain_method;
	} else {
		batch_same(b, OSRT_CALL_CALLCHAIN, 0, count);
	}
	/* Says nothing in rows without a chain: so it is one value, mostly. */
	batch_same(b, OSRT_CALL_CALLCHAIN_METHOD, w->callchain_method, count);
	s->callchain = 0;
}

/* What is alike in all of them is not stored again and again. */
void calls_put(struct segment *s, struct batch *b, uint32_t functions)
{
	struct differences d;
	uint32_t left = s->end - s->at, room = batch_room(b);
	uint32_t count = calls_scan(&s->records[s->at], left < room ? left : room, functions, &d);
	if (!count)
		return;
	call_times_put(s, b, count);
	call_functions_put(s, b, count, d.word);
	call_results_put(s, b, count, &d);
	call_objects_put(s, b, count, d.b);
	call_chains_put(s, b, count);
	s->at += count;
	batch_rows_added(b, count);
}
