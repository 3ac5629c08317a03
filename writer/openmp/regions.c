/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regions.c - conversion of records of OpenMP to rows.
 */
#include "writer/openmp/regions.h"

#include <string.h>

#define FLAGS_MASK 15u

#define OPENMP_REGION(number, id, title) OMP_##id = number,
enum omp_region {
#include "common/schema/openmp.def"
	OMP_REGIONS
};

#define KINDS 16u

/* Names by kind; 0 = of all other kinds. */
static const char *const names[OMP_REGIONS][KINDS] = {
#define OPENMP_REGION(number, id, title) [OMP_##id] = {[0] = title},
#include "common/schema/openmp.def"
};
static const char *const kind_names[OMP_REGIONS][KINDS] = {
#define OPENMP_NAME(region_id, kind, name) [OMP_##region_id][kind] = name,
#include "common/schema/openmp.def"
};

/* Return the id of a row's name. It does not remap the spool. */
static uint32_t name_id(struct writer *w, uint32_t region, uint32_t kind)
{
	const char *name = kind < KINDS ? kind_names[region][kind] : NULL;
	name = name ? name : names[region][0];
	return strings_id(&w->report.strings, name, (uint32_t)strlen(name));
}

static bool is_region(uint64_t what)
{
	uint32_t region = (uint32_t)(what & OPENMP_REGION_MASK);
	return region < OMP_REGIONS && names[region][0];
}

static void columns_set(struct batch *b, uint32_t name, uint64_t what, uint64_t parallel,
	const struct openmp_event *event)
{
	uint32_t region = (uint32_t)(what & OPENMP_REGION_MASK);
	bool has_other = region == OMP_TASK_CREATE || region == OMP_TASK_SCHEDULE;
	batch_set(b, OPENMP_NAME, name);
	batch_set(b, OPENMP_REGION, region);
	batch_set(b, OPENMP_KIND, what >> OPENMP_KIND_SHIFT & 0xff);
	batch_set(b, OPENMP_PARALLEL, parallel);
	batch_set(b, OPENMP_TASK, event->task);
	batch_set(b, has_other ? OPENMP_OTHER_TASK : OPENMP_OBJECT, event->object);
	batch_set(b, OPENMP_THREAD_NUMBER, event->thread_number);
	batch_set(b, OPENMP_TEAM_SIZE, event->team_size);
	batch_set(b, OPENMP_CODE, event->code);
}

uint32_t openmp_put(struct segment *s, const struct record_at *at)
{
	const struct record r = *at->r;
	struct openmp_event event = {0};
	uint64_t ticks = r.b >> OPENMP_DURATION_SHIFT,
		 flags = r.word >> RECORD_FLAGS_SHIFT & FLAGS_MASK;
	uint64_t start = segment_ns(s, r.tick), end = segment_ns(s, r.tick + ticks);
	if (!is_region(r.b))
		return 0;
	memcpy(&event, at->payload, at->bytes < sizeof(event) ? at->bytes : sizeof(event));
	uint32_t name = name_id(s->w, (uint32_t)(r.b & OPENMP_REGION_MASK),
		(uint32_t)(r.b >> OPENMP_KIND_SHIFT & 0xff));
	struct batch *b = segment_row_add(s, EVENT_OPENMP, start);
	batch_set(b, OPENMP_DURATION, end > start ? end - start : 0);
	columns_set(b, name, r.b, r.a, &event);
	batch_set(b, OPENMP_FLAGS, flags);
	if (s->callchain) {
		batch_set(b, OPENMP_CALLCHAIN, s->callchain);
		batch_set(b, OPENMP_CALLCHAIN_METHOD, s->callchain_method);
		s->callchain = 0;
	}
	segment_note_end(s, end > start ? end : start);
	if (r.tick + ticks > s->latest_tick)
		s->latest_tick = r.tick + ticks;
	segment_tally(s)->impossible += r.tick < s->least_tick || r.tick + ticks > s->most_tick;
	segment_tally(s)->abandoned += (flags & RECORD_ABANDONED) != 0;
	return at->slots;
}

/* Add a region that was open when the process ended, with that time as its end. The time may be an
 * earlier one, of the last record, where it is not known. */
static void open_add(struct ending *e, const struct openmp_open *open)
{
	uint64_t ns = ending_ns(e, open->tick), end_ns = ending_ns(e, e->end_tick);
	uint32_t name = name_id(e->w, (uint32_t)(open->what & OPENMP_REGION_MASK),
		(uint32_t)(open->what >> OPENMP_KIND_SHIFT & 0xff));
	struct batch *b = ending_row_add(e, EVENT_OPENMP, ns);
	batch_set(b, OPENMP_DURATION, end_ns > ns ? end_ns - ns : 0);
	columns_set(b, name, open->what, open->parallel, &open->event);
	batch_set(b, OPENMP_FLAGS, RECORD_UNFINISHED);
	ending_note_end(e, end_ns);
	ending_tally(e)->unfinished++;
}

void openmp_open_put(struct ending *e)
{
	uint64_t offset = e->lane->openmp, head = e->view->position;
	if (!offset || !ending_has_thread(e))
		return;
	const struct openmp_stack *stack = spool_at(e->spool, offset, OPENMP_STACK_BYTES);
	uint64_t depth = stack ? stack->depth : 0;
	for (uint32_t i = 0; i < OPENMP_STACK_MAX && i < depth; i++) {
		const struct openmp_open open = stack->open[i];
		if (open.tick && is_region(open.what) && !(open.what >> OPENMP_DURATION_SHIFT) &&
			!(open.recorded_at && open.recorded_at <= head))
			open_add(e, &open);
	}
}
