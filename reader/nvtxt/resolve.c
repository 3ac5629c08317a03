/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.c - conversion of NVTXT times to the report's clock, and pairing of pushes and pops. */
#include "reader/nvtxt/resolve.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/spool.h"
#include "reader/base/map.h"

__extension__ typedef __int128 wide;

struct nvtxt_resolver {
	struct nvtxt_file *file;
	struct nvtxt_clock clock;
	enum nvtxt_clock_kind kinds[NVTXT_BASES_MAX];
	bool refused[NVTXT_BASES_MAX]; /* the problem "ticks without a scale" was reported for this
					  base */
	int64_t last_ns;               /* greatest time of the file */
	struct map threads;            /* process, thread -> number */
	uint32_t *tops; /* indexed by number - 1: index + 1 of the innermost open push */
	uint32_t top_capacity;
	uint32_t *under; /* for each event, index + 1 of the push below it on the stack */
};

static bool is_timed(const struct nvtxt_event *e)
{
	return e->kind != NVTXT_EVENT_NONE && e->kind != NVTXT_EVENT_NAME;
}

/* ---- clocks ---- */

static bool is_scaled(const struct nvtxt_resolver *r, const struct nvtxt_event *e)
{
	return is_timed(e) && r->clock.scale != NVTXT_NO_SCALE && !r->file->is_ours &&
		r->kinds[e->base] != NVTXT_CLOCK_START;
}

static void points_find(struct nvtxt_resolver *r)
{
	int64_t least = INT64_MAX, greatest = INT64_MIN;
	for (uint32_t i = 0; i < r->file->count; i++) {
		const struct nvtxt_event *e = &r->file->events[i];
		if (!is_scaled(r, e))
			continue;
		least = e->start < least ? e->start : least;
		greatest = e->end > greatest ? e->end : greatest;
	}
	if (!r->clock.has_ticks_a)
		r->clock.ticks_a = least;
	if (!r->clock.has_ticks_b)
		r->clock.ticks_b = greatest;
}

static wide floor_divide(wide a, wide b)
{
	wide quotient = a / b;
	return quotient - (a % b < 0);
}

/* Convert ticks to ns. No input is negative, so differences have 63 bits and products fit into
 * 128. */
static bool scale(const struct nvtxt_clock *c, int64_t ticks, wide *ret_ns)
{
	wide since = (wide)ticks - c->ticks_a, between = (wide)c->ticks_b - c->ticks_a;
	if (c->scale == NVTXT_LIN) {
		*ret_ns = c->ns_a + floor_divide(since * 1000000000, (wide)c->hertz);
		return true;
	}
	if (between <= 0 && since)
		return false;
	*ret_ns = c->ns_a + (since ? floor_divide(since * ((wide)c->ns_b - c->ns_a), between) : 0);
	return true;
}

static bool time_convert(
	struct nvtxt_resolver *r, const struct nvtxt_event *e, int64_t time, int64_t *ret_ns)
{
	wide ns = time;
	if (r->file->is_ours)
		ns += r->file->origin_ns;
	else if (r->kinds[e->base] == NVTXT_CLOCK_START)
		ns += r->clock.session_start_ns;
	else if (r->clock.scale != NVTXT_NO_SCALE && !scale(&r->clock, time, &ns))
		return false;
	*ret_ns = (int64_t)ns;
	return ns >= 0 && ns <= INT64_MAX;
}

static void event_convert(struct nvtxt_resolver *r, struct nvtxt_event *e)
{
	struct nvtxt_file *f = r->file;
	if (!f->is_ours && r->kinds[e->base] == NVTXT_CLOCK_TICKS &&
		r->clock.scale == NVTXT_NO_SCALE) {
		if (!r->refused[e->base])
			nvtxt_file_problem(f, NVTXT_RANGE_ERROR, e->line, e->column,
				"time base %.40s: use --mode to define its ticks",
				f->bases[e->base]);
		r->refused[e->base] = true;
		e->kind = NVTXT_EVENT_NONE;
		return;
	}
	if (!time_convert(r, e, e->start, &e->start) || !time_convert(r, e, e->end, &e->end)) {
		nvtxt_file_problem(f, NVTXT_RANGE_ERROR, e->line, e->column,
			"the time is out of the range of a report");
		e->kind = NVTXT_EVENT_NONE;
		return;
	}
	if (is_timed(e))
		r->last_ns = e->end > r->last_ns ? e->end : r->last_ns;
}

static void clocks_convert(struct nvtxt_resolver *r)
{
	struct nvtxt_file *f = r->file;
	bool known;
	for (uint32_t i = 0; i < f->base_count; i++)
		r->kinds[i] = nvtxt_clock_kind(f->bases[i], &known);
	points_find(r);
	for (uint32_t i = 0; i < f->count; i++) {
		struct nvtxt_event *e = &f->events[i];
		if (is_timed(e) || (e->kind == NVTXT_EVENT_NAME && f->is_ours))
			event_convert(r, e);
		else
			e->start = e->end = (int64_t)r->clock.session_start_ns;
	}
}

/* ---- pushes and pops ---- */

/* Return the slot of the innermost open push of the event's thread, which contains its index + 1
 * (0 = none). Returns NULL when out of memory. */
static uint32_t *top_of(struct nvtxt_resolver *r, const struct nvtxt_event *e)
{
	uint32_t number = map_get(&r->threads, e->process, e->thread);
	if (!number) {
		number = r->threads.count + 1;
		if (array_room(&r->tops, number - 1, &r->top_capacity, sizeof(*r->tops)) ||
			map_put(&r->threads, e->process, e->thread, number))
			return NULL;
		r->tops[number - 1] = 0;
	}
	return &r->tops[number - 1];
}

static void push(struct nvtxt_resolver *r, uint32_t *top, uint32_t index)
{
	struct nvtxt_event *e = &r->file->events[index];
	if (!e->has_level)
		e->level = *top ? r->file->events[*top - 1].level + 1 : 0;
	r->under[index] = *top;
	*top = index + 1;
}

static void pop(struct nvtxt_resolver *r, uint32_t *top, struct nvtxt_event *e)
{
	struct nvtxt_file *f = r->file;
	e->kind = NVTXT_EVENT_NONE;
	if (!*top) {
		nvtxt_file_problem(f, NVTXT_WARNING, e->line, e->column,
			"pop without a preceding push: ignored");
		return;
	}
	struct nvtxt_event *range = &f->events[*top - 1];
	range->end = e->start;
	if (range->end < range->start) {
		nvtxt_file_problem(f, NVTXT_RANGE_ERROR, e->line, e->column,
			"the range pushed in line %u ends before it starts", range->line);
		range->kind = NVTXT_EVENT_NONE;
	}
	*top = r->under[*top - 1];
}

static int ranges_pair(struct nvtxt_resolver *r)
{
	struct nvtxt_file *f = r->file;
	r->under = calloc((size_t)f->count + 1, sizeof(*r->under));
	if (!r->under)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->count; i++) {
		struct nvtxt_event *e = &f->events[i];
		if (e->kind != NVTXT_EVENT_PUSH && e->kind != NVTXT_EVENT_POP)
			continue;
		uint32_t *top = top_of(r, e);
		if (!top)
			return -ENOMEM;
		if (e->kind == NVTXT_EVENT_PUSH)
			push(r, top, i);
		else
			pop(r, top, e);
	}
	return 0;
}

/* End ranges without a pop at the last event of the file, and flag them as unfinished. */
static void ranges_end(struct nvtxt_resolver *r)
{
	for (uint32_t i = 0; i < r->threads.count; i++)
		for (uint32_t place = r->tops[i]; place; place = r->under[place - 1]) {
			struct nvtxt_event *e = &r->file->events[place - 1];
			e->end = r->last_ns;
			e->flags |= RECORD_UNFINISHED;
		}
}

int nvtxt_resolve(struct nvtxt_file *f, const struct nvtxt_clock *clock)
{
	struct nvtxt_resolver r = {.file = f, .clock = *clock};
	clocks_convert(&r);
	int error = ranges_pair(&r);
	if (!error)
		ranges_end(&r);
	map_release(&r.threads);
	free(r.tops);
	free(r.under);
	return error;
}
