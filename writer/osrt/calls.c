/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - conversion of function calls to columns.
 *
 * A record is read twice, and its process may change it in between: two reads are never assumed to
 * be equal.
 */
#define _GNU_SOURCE
#include "writer/osrt/calls.h"

#include "common/schema/functions.h"
#include "writer/lane/columns.h"

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

void calls_put(struct segment *s, struct batch *b, uint32_t functions)
{
	struct differences d;
	uint32_t left = s->end - s->at, room = batch_room(b);
	uint32_t count =
		columns_scan(&s->records[s->at], left < room ? left : room, 1, functions - 1, &d);
	if (!count)
		return;
	columns_times_put(s, b, count);
	call_functions_put(s, b, count, d.word);
	columns_flags_put(s, b, OSRT_CALL_FLAGS, count, d.word);
	call_results_put(s, b, count, &d);
	call_objects_put(s, b, count, d.b);
	columns_callchain_put(s, b, OSRT_CALL_CALLCHAIN, count);
	s->at += count;
	batch_rows_added(b, count);
}
