/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - conversion of function calls to columns.
 *
 * A record is read twice, and its process may change it in between: two reads are never assumed to
 * be equal.
 */
#define _GNU_SOURCE
#include "writer/osrt/calls.h"

#include <string.h>

#include "common/schema/functions.h"

/* Copy of the clock's current piece for the hot loop, which would otherwise load it again after
 * every store. */
struct piece {
	uint64_t tick, span, ns, slope;
};

static inline struct piece piece_of(const struct segment *s)
{
	const struct clockfit *fit = &s->w->clock.fit;
	return s->monotonic ? (struct piece){0, UINT64_MAX, 0, UINT64_C(1) << CLOCKFIT_SHIFT}
			    : (struct piece){fit->tick, fit->span, fit->ns, fit->slope};
}

static inline uint64_t piece_scale(const struct piece *p, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * p->slope >> CLOCKFIT_SHIFT);
}

/* Convert a call that is not within the current piece. */
static __attribute__((noinline)) void times_convert(struct segment *s, uint64_t tick,
	uint64_t ticks, uint64_t *ret_start, uint64_t *ret_duration)
{
	*ret_duration = clockfit_duration_ns(&s->w->clock.fit, tick, ticks);
	*ret_start = clockfit_ns(&s->w->clock.fit, tick);
}

static void note_flags(struct segment *s, uint64_t flags)
{
	segment_tally(s)->abandoned += (flags & RECORD_ABANDONED) != 0;
	segment_tally(s)->unfinished += (flags & RECORD_UNFINISHED) != 0;
}

/* The bits in which the records of some calls differ. */
struct differences {
	uint64_t word, a, b;
};

/* Count the consecutive calls from `r` on, and find the bits in which they differ. */
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

/* Fill start and duration of `count` calls from s->at on. */
static void call_times_put(struct segment *s, struct batch *b, uint32_t count)
{
	struct writer *w = s->w;
	struct piece piece = piece_of(s);
	uint64_t first_ns = w->rows.first_ns, last_ns = w->rows.last_ns, latest = s->latest_tick,
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
	w->rows.first_ns = first_ns;
	w->rows.last_ns = last_ns;
	s->latest_tick = latest;
	segment_tally(s)->impossible += impossible;
}

/* Return the string id of the function in the first word of a record, which may have changed
 * meanwhile. */
static uint32_t function_id(struct strings *strings, uint64_t word)
{
	uint32_t fn = (uint32_t)(word & RECORD_KIND_MASK);
	uint32_t id = fn < FN_MAX ? strings->functions[fn] : 0;
	return __builtin_expect(id != 0, 1) ? id : strings_function_id(strings, fn);
}

static void call_functions_put(
	struct segment *s, struct batch *b, uint32_t count, uint64_t differences)
{
	const struct record *r = &s->records[s->at];
	struct strings *strings = &s->w->report.strings;
	if (differences & RECORD_KIND_MASK) {
		uint64_t *functions = batch_rows(b, OSRT_CALL_FUNCTION);
		for (uint32_t i = 0; i < count; i++)
			functions[i] = function_id(strings, r[i].word);
	} else {
		batch_same(b, OSRT_CALL_FUNCTION, function_id(strings, r->word), count);
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

/* Fill result and holder: the upper half of a lock's result is its holder. */
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
		bool lock = fn_is_lock((uint32_t)(r[i].word & RECORD_KIND_MASK));
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

/* Fill the callchains. Only the first of these calls can have one, whose record is before the
 * call's. */
static void call_chains_put(struct segment *s, struct batch *b, uint32_t count)
{
	struct writer *w = s->w;
	if (s->callchain) {
		uint64_t *chains = batch_rows(b, OSRT_CALL_CALLCHAIN);
		memset(chains, 0, count * sizeof(chains[0]));
		chains[0] = s->callchain;
		w->rows.callchain_method = s->callchain_method;
	} else {
		batch_same(b, OSRT_CALL_CALLCHAIN, 0, count);
	}
	/* The method has no meaning in rows without a chain, so the method of the last chain is
	 * used: then the column mostly has one value. */
	batch_same(b, OSRT_CALL_CALLCHAIN_METHOD, w->rows.callchain_method, count);
	s->callchain = 0;
}

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
