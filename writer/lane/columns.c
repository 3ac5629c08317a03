/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.c - columns of consecutive calls: times, flags, callchain.
 */
#define _GNU_SOURCE
#include "writer/lane/columns.h"

#include <string.h>

_Static_assert((int)OSRT_CALL_START == 0 && (int)FUNCTION_CALL_START == 0 &&
		(int)OSRT_CALL_DURATION == 1 && (int)FUNCTION_CALL_DURATION == 1 &&
		OSRT_CALL_CALLCHAIN_METHOD == OSRT_CALL_CALLCHAIN + 1 &&
		FUNCTION_CALL_CALLCHAIN_METHOD == FUNCTION_CALL_CALLCHAIN + 1,
	"the code relies on the order of these columns");

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

void columns_times_put(struct segment *s, struct batch *b, uint32_t count)
{
	struct writer *w = s->w;
	struct piece piece = piece_of(s);
	uint64_t first_ns = w->rows.first_ns, last_ns = w->rows.last_ns, latest = s->latest_tick,
		 impossible = 0;
	const uint64_t least = s->least_tick, most = s->most_tick;
	const struct record *r = &s->records[s->at];
	uint64_t *starts = batch_rows(b, 0), *durations = batch_rows(b, 1);
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

void columns_flags_put(
	struct segment *s, struct batch *b, uint32_t column, uint32_t count, uint64_t differences)
{
	const struct record *r = &s->records[s->at];
	struct tally *tally = segment_tally(s);
	if (!((differences | r->word) >> RECORD_FLAGS_SHIFT & 15)) {
		batch_same(b, column, 0, count);
		return;
	}
	uint64_t *flags = batch_rows(b, column);
	for (uint32_t i = 0; i < count; i++) {
		flags[i] = r[i].word >> RECORD_FLAGS_SHIFT & 15;
		tally->abandoned += (flags[i] & RECORD_ABANDONED) != 0;
		tally->unfinished += (flags[i] & RECORD_UNFINISHED) != 0;
	}
}

void columns_callchain_put(struct segment *s, struct batch *b, uint32_t column, uint32_t count)
{
	struct writer *w = s->w;
	if (s->callchain) {
		uint64_t *chains = batch_rows(b, column);
		memset(chains, 0, count * sizeof(chains[0]));
		chains[0] = s->callchain;
		w->rows.callchain_method = s->callchain_method;
	} else {
		batch_same(b, column, 0, count);
	}
	/* The method has no meaning in rows without a chain, so the method of the last chain is
	 * used: then the column mostly has one value. */
	batch_same(b, column + 1, w->rows.callchain_method, count);
	s->callchain = 0;
}
