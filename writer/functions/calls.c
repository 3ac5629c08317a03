/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - events from the calls of library functions.
 */
#include "writer/functions/calls.h"

#include <string.h>

#include "common/schema/libraries.h"
#include "writer/base/names.h"
#include "writer/lane/columns.h"

#define FLAGS_MASK 15u

/* A call's names, as string ids, and the LIBRARY row of its library. */
struct names {
	uint32_t function, library, library_api;
};

/* Find the LIBRARY row by the name of the library's file, which is `ref` of the spool. */
static uint32_t library_find(struct spool *spool, uint32_t ref)
{
	char name[256] = "";
	const char *text = NULL;
	uint32_t bytes = spool_name_text(spool, ref, &text);
	if (!bytes || bytes >= sizeof(name))
		return 0;
	memcpy(name, text, bytes);
	const struct library *library = library_of_file(name);
	return library ? library->number : 0;
}

static struct names names_find(struct writer *w, struct spool *spool, uint64_t names)
{
	uint32_t library = spool_name_id(w, spool, (uint32_t)(names >> 32));
	struct library_known *known = &w->libraries[library % LIBRARIES_KNOWN];
	if (library != known->name)
		*known = (struct library_known){
			library, library_find(spool, (uint32_t)(names >> 32))};
	return (struct names){spool_name_id(w, spool, (uint32_t)names), library, known->number};
}

static void names_set(struct batch *b, const struct names *names)
{
	batch_set(b, FUNCTION_CALL_FUNCTION, names->function);
	batch_set(b, FUNCTION_CALL_LIBRARY, names->library);
	batch_set(b, FUNCTION_CALL_LIBRARY_API, names->library_api);
}

/* The words of a call, copied from the spool. All zero = none is kept. */
struct words {
	uint32_t prototype; /* string id */
	uint32_t count;
	uint64_t word[FUNCTION_WORDS_MAX];
};

static void words_set(struct batch *b, const struct words *words)
{
	batch_set(b, FUNCTION_CALL_ARGUMENTS, words->prototype);
	batch_set(b, FUNCTION_CALL_WORDS, words->count);
	for (uint32_t i = 0; i < words->count; i++)
		batch_set(b, FUNCTION_CALL_WORD1 + i, words->word[i]);
}

/* Fill the words of calls that keep none. */
static void no_words_put(struct batch *b, uint32_t count)
{
	for (uint32_t column = FUNCTION_CALL_ARGUMENTS;
		column < FUNCTION_CALL_WORD1 + FUNCTION_WORDS_MAX; column++)
		batch_same(b, column, 0, count);
}

/* Add the row of a call. The record is a copy: a lookup of a name may remap the spool. */
static void row_put(struct segment *s, const struct record r, const struct words *words)
{
	uint64_t ticks = r.word >> RECORD_LENGTH_SHIFT,
		 flags = r.word >> RECORD_FLAGS_SHIFT & FLAGS_MASK;
	uint64_t start = segment_ns(s, r.tick), end = segment_ns(s, r.tick + ticks);
	const struct names names = names_find(s->w, s->spool, r.b);
	struct batch *b = segment_row_add(s, EVENT_FUNCTION_CALL, start);
	batch_set(b, FUNCTION_CALL_DURATION, end > start ? end - start : 0);
	names_set(b, &names);
	batch_set(b, FUNCTION_CALL_RETURN, r.a);
	batch_set(b, FUNCTION_CALL_LEVEL, (r.word & RECORD_KIND_MASK) - REC_FUNCTION);
	batch_set(b, FUNCTION_CALL_FLAGS, flags);
	batch_set(b, FUNCTION_CALL_CALLCHAIN, s->callchain);
	batch_set(b, FUNCTION_CALL_CALLCHAIN_METHOD, s->callchain ? s->callchain_method : 0);
	words_set(b, words);
	s->callchain = 0;
	segment_note_end(s, end > start ? end : start);
	if (r.tick + ticks > s->latest_tick)
		s->latest_tick = r.tick + ticks;
	segment_tally(s)->impossible += r.tick < s->least_tick || r.tick + ticks > s->most_tick;
	segment_tally(s)->abandoned += (flags & RECORD_ABANDONED) != 0;
	segment_tally(s)->unfinished += (flags & RECORD_UNFINISHED) != 0;
	segment_reload(s);
}

/* Find the names of a record; s->records is NULL afterwards if the spool was cut meanwhile. */
static struct names segment_names(struct segment *s, uint64_t names)
{
	const struct name_cache *cache = &s->w->names;
	uint32_t function = name_cache_id(cache, s->spool->id, (uint32_t)names),
		 library = name_cache_id(cache, s->spool->id, (uint32_t)(names >> 32));
	const struct library_known *known = &s->w->libraries[library % LIBRARIES_KNOWN];
	if (__builtin_expect(function && library && library == known->name, 1))
		return (struct names){function, library, known->number};
	struct names found = names_find(s->w, s->spool, names);
	segment_reload(s);
	return found;
}

/* Fill the names of at most `count` calls. Return the number of calls: fewer if new texts fill a
 * block, which is then written before the next record, or if the spool was cut. */
static uint32_t call_names_put(
	struct segment *s, struct batch *b, uint32_t count, uint64_t differences)
{
	const struct strings *strings = &s->w->report.strings;
	uint64_t names = s->records[s->at].b;
	struct names found = segment_names(s, names);
	uint32_t i = 0;
	if (!differences) {
		batch_same(b, FUNCTION_CALL_FUNCTION, found.function, count);
		batch_same(b, FUNCTION_CALL_LIBRARY, found.library, count);
		batch_same(b, FUNCTION_CALL_LIBRARY_API, found.library_api, count);
		return s->records ? count : 0;
	}
	uint64_t *functions = batch_rows(b, FUNCTION_CALL_FUNCTION),
		 *libraries = batch_rows(b, FUNCTION_CALL_LIBRARY),
		 *apis = batch_rows(b, FUNCTION_CALL_LIBRARY_API);
	for (; s->records && i < count && (!i || strings->pending_bytes < BLOCK_BYTES_MAX); i++) {
		if (s->records[s->at + i].b != names) {
			names = s->records[s->at + i].b;
			found = segment_names(s, names);
		}
		functions[i] = found.function;
		libraries[i] = found.library;
		apis[i] = found.library_api;
	}
	return s->records ? i : 0;
}

static void call_results_put(
	struct segment *s, struct batch *b, uint32_t count, const struct differences *d)
{
	const struct record *r = &s->records[s->at];
	if (d->a) {
		uint64_t *values = batch_rows(b, FUNCTION_CALL_RETURN);
		for (uint32_t i = 0; i < count; i++)
			values[i] = r[i].a;
	} else {
		batch_same(b, FUNCTION_CALL_RETURN, r->a, count);
	}
	if (d->word & RECORD_KIND_MASK) {
		uint64_t *levels = batch_rows(b, FUNCTION_CALL_LEVEL);
		for (uint32_t i = 0; i < count; i++)
			levels[i] = r[i].word & FUNCTION_LEVEL_MAX;
	} else {
		batch_same(b, FUNCTION_CALL_LEVEL, r->word & FUNCTION_LEVEL_MAX, count);
	}
}

_Static_assert((REC_FUNCTION & FUNCTION_LEVEL_MAX) == 0, "the level is the low byte of the kind");

uint32_t function_call_put(struct segment *s, const struct record_at *at)
{
	struct batch *b = s->w->rows.batches[EVENT_FUNCTION_CALL];
	struct differences d;
	if (!batch_room(b))
		segment_run_end(s, s->at);
	uint32_t left = s->end - s->at, room = batch_room(b);
	uint32_t count = columns_scan(
		at->r, left < room ? left : room, REC_FUNCTION, FUNCTION_LEVEL_MAX + 1, &d);
	count = count ? call_names_put(s, b, count, d.b) : 0;
	if (!count)
		return 0;
	columns_times_put(s, b, count);
	columns_flags_put(s, b, FUNCTION_CALL_FLAGS, count, d.word);
	call_results_put(s, b, count, &d);
	columns_callchain_put(s, b, FUNCTION_CALL_CALLCHAIN, count);
	no_words_put(b, count);
	batch_rows_added(b, count);
	return count;
}

uint32_t function_words_put(struct segment *s, const struct record_at *at)
{
	uint32_t prototype = (uint32_t)at->r->a;
	struct words words = {.count = (uint16_t)at->r->b};
	const struct record *call = at->r + at->slots;
	if (s->at + at->slots >= s->end || words.count > FUNCTION_WORDS_MAX ||
		words.count > at->bytes / 8)
		return 0;
	const struct record r = *call;
	if (record_kind_of(r.word) != REC_FUNCTION)
		return 0;
	memcpy(words.word, at->payload, words.count * sizeof(uint64_t));
	s->overhead++;
	words.prototype = spool_name_id(s->w, s->spool, prototype);
	row_put(s, r, &words);
	return at->slots + 1;
}

static void call_add(struct ending *e, uint64_t tick, uint64_t end_tick, uint64_t names,
	uint32_t level, uint64_t flags, uint64_t value, const struct words *words)
{
	uint64_t ns = ending_ns(e, tick), end_ns = ending_ns(e, end_tick);
	const struct names found = names_find(e->w, e->spool, names);
	struct batch *b = ending_row_add(e, EVENT_FUNCTION_CALL, ns);
	batch_set(b, FUNCTION_CALL_DURATION, end_ns > ns ? end_ns - ns : 0);
	names_set(b, &found);
	batch_set(b, FUNCTION_CALL_RETURN, value);
	batch_set(b, FUNCTION_CALL_LEVEL, level);
	batch_set(b, FUNCTION_CALL_FLAGS, flags);
	words_set(b, words);
	ending_note_end(e, end_ns);
	ending_tally(e)->unfinished += (flags & RECORD_UNFINISHED) != 0;
	ending_tally(e)->abandoned += (flags & RECORD_ABANDONED) != 0;
}

/* Return the words of entry `number` of the open calls at `offset`; none if it has none. */
static struct words words_find(struct ending *e, uint64_t offset, uint32_t number)
{
	const struct function_stack *stack =
		spool_at(e->spool, offset, FUNCTION_STACK_BYTES + FUNCTION_WORDS_BYTES);
	struct words words = {0};
	if (!stack || !stack->has_words)
		return words;
	const struct function_words from =
		((const struct function_words *)(const void *)((const char *)stack +
			FUNCTION_STACK_BYTES))[number];
	if (!from.prototype)
		return words;
	words.count = from.count < FUNCTION_WORDS_MAX ? from.count : FUNCTION_WORDS_MAX;
	memcpy(words.word, from.word, sizeof(words.word));
	words.prototype = spool_name_id(e->w, e->spool, from.prototype);
	return words;
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
			(r.word >> RECORD_FLAGS_SHIFT & FLAGS_MASK) | RECORD_NESTED, r.a,
			&(struct words){0});
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
		const struct words words = words_find(e, offset, i);
		call_add(e, open.tick, e->end_tick, open.names,
			i < FUNCTION_LEVEL_MAX ? i : FUNCTION_LEVEL_MAX, RECORD_UNFINISHED, 0,
			&words);
	}
}
