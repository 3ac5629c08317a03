/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records.c - records of the OS runtime that are not calls.
 */
#define _GNU_SOURCE
#include "writer/osrt/records.h"

#include <string.h>

/* Convert a sum of ticks, which has no start, to ns. */
static uint64_t sum_ns(struct segment *s, uint64_t ticks)
{
	return s->monotonic ? ticks : clockfit_scale(&s->w->clock.fit, ticks);
}

uint32_t sum_put(struct segment *s, const struct record_at *at)
{
	const struct record *r = at->r;
	uint64_t count = r->a & MASK_48, total_ns = sum_ns(s, r->b);
	uint32_t fn = (uint32_t)(r->a >> 48);
	struct batch *b = segment_row_add(s, EVENT_OSRT_SUMMARY, segment_ns(s, r->tick));
	batch_set(b, OSRT_SUMMARY_FUNCTION, strings_function_id(&s->w->report.strings, fn));
	batch_set(b, OSRT_SUMMARY_COUNT, count);
	batch_set(b, OSRT_SUMMARY_TOTAL, total_ns);
	segment_tally(s)->summarized += count;
	return at->slots;
}

uint32_t path_put(struct segment *s, const struct record_at *at)
{
	const struct record *r = at->r;
	const char *path = (const char *)at->payload;
	struct batch *b = segment_row_add(s, EVENT_FILE_PATH, segment_ns(s, r->tick));
	batch_set(b, FILE_PATH_DESCRIPTOR, r->a);
	batch_set(b, FILE_PATH_OPEN_FLAGS, r->b >> 32);
	batch_set(b, FILE_PATH_MODE, (uint32_t)r->b);
	batch_set(b, FILE_PATH_PATH,
		strings_id(&s->w->report.strings, path, strnlen(path, at->bytes)));
	return at->slots;
}

/* The nodes of the callchain are in the report: it is that of a call before, which has a row. */
uint32_t gil_wait_put(struct segment *s, const struct record_at *at)
{
	const struct record r = *at->r;
	uint64_t end_tick = r.tick + (r.a & MASK_48), start_ns = segment_ns(s, r.tick),
		 end_ns = segment_ns(s, end_tick);
	struct batch *b = segment_row_add(s, EVENT_GIL_WAIT, start_ns);
	batch_set(b, GIL_WAIT_DURATION, end_ns > start_ns ? end_ns - start_ns : 0);
	batch_set(b, GIL_WAIT_HOLDER, r.b >> 32);
	batch_set(b, GIL_WAIT_CALLCHAIN, (uint32_t)r.b);
	batch_set(b, GIL_WAIT_CALLCHAIN_METHOD, r.a >> 48 & 255);
	batch_set(b, GIL_WAIT_INTERPRETER, r.a >> 56);
	segment_note_end(s, end_ns > start_ns ? end_ns : start_ns);
	return at->slots;
}
