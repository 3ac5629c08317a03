/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runs.c - conversion of NVTX marks and ranges to columns.
 *
 * A record is read more than once, and its process may change it in between: two reads are never
 * assumed to be equal. A lookup of a name may remap the spool: no pointer into it is kept across a
 * lookup.
 */
#include "writer/nvtx/runs.h"

#include <string.h>

#include "writer/base/names.h"
#include "writer/cuda/launches.h"
#include "writer/nvtx/named.h"

/* Columns of a kind of event. */
struct layout {
	uint32_t event;
	uint32_t first; /* domain, text, category, color, payload type, payload: in this order */
	uint32_t flags, callchain;
	uint32_t level,
		range_id; /* 0 = none; the column after range_id is the thread that started it */
	bool lasts;       /* events of the kind have a duration */
	bool attributes;  /* all events of the kind have attributes */
};

enum { DOMAIN, TEXT, CATEGORY, COLOR, PAYLOAD_TYPE, PAYLOAD };

static const struct layout marks = {.event = EVENT_NVTX_MARK,
	.first = NVTX_MARK_DOMAIN,
	.flags = NVTX_MARK_FLAGS,
	.callchain = NVTX_MARK_CALLCHAIN};
static const struct layout ranges = {.event = EVENT_NVTX_RANGE,
	.first = NVTX_RANGE_DOMAIN,
	.flags = NVTX_RANGE_FLAGS,
	.callchain = NVTX_RANGE_CALLCHAIN,
	.level = NVTX_RANGE_LEVEL,
	.lasts = true};
static const struct layout starts = {.event = EVENT_NVTX_START_END,
	.first = NVTX_START_END_DOMAIN,
	.flags = NVTX_START_END_FLAGS,
	.callchain = NVTX_START_END_CALLCHAIN,
	.range_id = NVTX_START_END_RANGE_ID,
	.lasts = true,
	.attributes = true};

_Static_assert((int)NVTX_RANGE_DURATION == (int)NVTX_START_END_DURATION &&
		NVTX_START_END_START_TID == NVTX_START_END_RANGE_ID + 1 &&
		NVTX_MARK_CALLCHAIN_METHOD == NVTX_MARK_CALLCHAIN + 1 &&
		NVTX_RANGE_CALLCHAIN_METHOD == NVTX_RANGE_CALLCHAIN + 1 &&
		NVTX_START_END_CALLCHAIN_METHOD == NVTX_START_END_CALLCHAIN + 1,
	"the code relies on these columns being adjacent");
_Static_assert(NVTX_MARK_PAYLOAD == NVTX_MARK_DOMAIN + PAYLOAD &&
		NVTX_RANGE_PAYLOAD == NVTX_RANGE_DOMAIN + PAYLOAD &&
		NVTX_START_END_PAYLOAD == NVTX_START_END_DOMAIN + PAYLOAD,
	"the columns that all kinds have are in the order of the enum above");

static const struct layout *layout_of(uint32_t kind)
{
	switch (kind) {
	case REC_NVTX_MARK:
		return &marks;
	case REC_NVTX_RANGE:
		return &ranges;
	default:
		return &starts;
	}
}

/* The rows that are being added. */
struct run {
	struct segment *s;
	struct batch *b;
	const struct layout *layout;
	bool attributes;
	uint32_t slot, end; /* slots of the chunk */
	uint32_t rows;
	uint64_t *start, *duration, *column[PAYLOAD + 1], *flags, *level, *range_id, *start_tid;
	uint64_t domain_ref, domain, text_ref, text; /* results of the last lookups */
	uint64_t first_ns, last_ns, impossible, unfinished;
};

static void run_columns(struct run *run)
{
	struct batch *b = run->b;
	const struct layout *l = run->layout;
	run->start = batch_rows(b, 0);
	run->duration = l->lasts ? batch_rows(b, NVTX_RANGE_DURATION) : NULL;
	for (uint32_t i = DOMAIN; i <= (run->attributes ? PAYLOAD : TEXT); i++)
		run->column[i] = batch_rows(b, l->first + i);
	run->flags = batch_rows(b, l->flags);
	run->level = l->level ? batch_rows(b, l->level) : NULL;
	run->range_id = l->range_id ? batch_rows(b, l->range_id) : NULL;
	run->start_tid = l->range_id ? batch_rows(b, l->range_id + 1) : NULL;
}

/* Return the string id of a name of the spool. May remap the spool. */
static uint64_t name_of(struct run *run, uint64_t ref, uint64_t *last_ref, uint64_t *last)
{
	struct segment *s = run->s;
	if (ref != *last_ref) {
		*last = spool_name_id(s->w, s->spool, (uint32_t)ref);
		*last_ref = ref;
		segment_reload(s);
	}
	return *last;
}

static void time_put(struct run *run, uint64_t tick, uint64_t ticks)
{
	struct segment *s = run->s;
	struct clockfit *fit = &s->w->clock.fit;
	uint64_t start = s->monotonic ? tick : clockfit_ns(fit, tick),
		 duration = s->monotonic ? ticks : clockfit_duration_ns(fit, tick, ticks);
	run->start[run->rows] = start;
	if (run->duration)
		run->duration[run->rows] = duration;
	if (start < run->first_ns)
		run->first_ns = start;
	if (start + duration > run->last_ns)
		run->last_ns = start + duration;
	if (tick + ticks > s->latest_tick)
		s->latest_tick = tick + ticks;
	run->impossible += tick < s->least_tick || tick + ticks > s->most_tick;
}

struct fixed {
	struct nvtx_attributes attributes;
	struct nvtx_start start;
};

/* Read the attributes, and the id and thread of a start/end range, from the front of a payload.
 * Missing bytes are zeros. Return the number of bytes read. */
static uint32_t fixed_read(
	const struct run *run, const uint8_t *at, uint32_t bytes, struct fixed *ret_fixed)
{
	uint32_t wanted = !run->attributes ? 0
		: run->range_id            ? sizeof(*ret_fixed)
					   : sizeof(ret_fixed->attributes);
	memset(ret_fixed, 0, sizeof(*ret_fixed));
	memcpy(ret_fixed, at, bytes < wanted ? bytes : wanted);
	return bytes < wanted ? bytes : wanted;
}

static uint32_t fixed_put(struct run *run, const uint8_t *at, uint32_t bytes)
{
	struct fixed fixed;
	uint32_t row = run->rows;
	if (!run->attributes)
		return 0;
	uint32_t taken = fixed_read(run, at, bytes, &fixed);
	run->column[CATEGORY][row] = fixed.attributes.category;
	run->column[COLOR][row] = fixed.attributes.color;
	run->column[PAYLOAD_TYPE][row] = fixed.attributes.payload_type;
	run->column[PAYLOAD][row] = fixed.attributes.payload;
	if (run->range_id) {
		run->range_id[row] = fixed.start.id;
		run->start_tid[row] = fixed.start.tid;
	}
	return taken;
}

/* Return the string id of a text in the record itself. `flags` shows whether that is the whole
 * text. */
static uint64_t text_of(struct run *run, const char *text, uint32_t bytes, uint64_t *flags)
{
	struct segment *s = run->s;
	if (__builtin_expect(*flags & RECORD_TEXT_CUT, 0)) {
		uint64_t id = nvtx_long_id(s->w, s->spool, text, bytes, flags);
		segment_reload(s);
		return id;
	}
	return strings_id(
		&s->w->report.strings, text, bytes < NVTX_TEXT_BYTES ? bytes : NVTX_TEXT_BYTES);
}

/* Note a range that may contain kernel launches. May remap the spool. */
static void launches_note(const struct run *run, const struct record *r, uint32_t bytes)
{
	struct segment *s = run->s;
	struct fixed fixed;
	uint32_t taken = fixed_read(run, (const uint8_t *)(r + 1), bytes, &fixed);
	uint32_t text_bytes = bytes - taken;
	launches_note_range(s->spool,
		&(struct launch_span){.tick = r->tick,
			.end_tick = r->tick + (r->b >> 16),
			.is_span = run->range_id != NULL,
			.tid = run->range_id ? fixed.start.tid : s->view->tid,
			.id = fixed.start.id,
			.domain = (uint32_t)(r->a >> 32),
			.name = text_bytes ? 0 : (uint32_t)r->a,
			.text = (const char *)(r + 1) + taken,
			.text_bytes = text_bytes < NVTX_TEXT_BYTES ? text_bytes : NVTX_TEXT_BYTES,
			.attributes = fixed.attributes});
	segment_reload(s);
}

/* Add one row: the record at run->slot, whose payload of `bytes` is in the chunk. */
static void row_put(struct run *run, const struct record *r, uint64_t word, uint32_t bytes)
{
	uint64_t names = r->a, low = r->b, flags = word >> RECORD_FLAGS_SHIFT & 15;
	uint32_t row = run->rows;
	time_put(run, r->tick, run->duration ? low >> 16 : 0);
	uint32_t fixed = fixed_put(run, (const uint8_t *)(r + 1), bytes);
	const char *text = (const char *)(r + 1) + fixed;
	bytes -= fixed;
	if (bytes)
		run->column[TEXT][row] = text_of(run, text, bytes, &flags);
	else
		run->column[TEXT][row] = name_of(run, (uint32_t)names, &run->text_ref, &run->text);
	if (!bytes && (uint32_t)names)
		flags |= RECORD_TEXT_NAMED;
	run->column[DOMAIN][row] = name_of(run, names >> 32, &run->domain_ref, &run->domain);
	run->flags[row] = flags;
	run->unfinished += (flags & RECORD_UNFINISHED) != 0;
	if (run->level)
		run->level[row] = low & NVTX_LEVEL_MASK;
	run->rows++;
}

/* Fill the callchain columns. Only the first row can have a callchain: its record precedes that of
 * the event, and so ended the previous run. */
static void callchains_put(struct run *run)
{
	struct segment *s = run->s;
	uint32_t column = run->layout->callchain, count = run->rows;
	if (s->callchain) {
		uint64_t *chains = batch_rows(run->b, column),
			 *methods = batch_rows(run->b, column + 1);
		memset(chains, 0, count * sizeof(chains[0]));
		memset(methods, 0, count * sizeof(methods[0]));
		chains[0] = s->callchain;
		methods[0] = s->callchain_method;
	} else {
		batch_same(run->b, column, 0, count);
		batch_same(run->b, column + 1, 0, count);
	}
	s->callchain = 0;
}

static bool has_attributes(const struct layout *l, uint64_t low)
{
	return l->attributes || low & NVTX_HAS_ATTRIBUTES;
}

/* Return true if the pending texts fill a block: it is then written before the next record. */
static bool texts_are_many(const struct run *run)
{
	return run->rows && run->s->w->report.strings.pending_bytes >= BLOCK_BYTES_MAX;
}

uint32_t nvtx_run_put(struct segment *s, const struct record_at *at)
{
	const struct record *r = at->r;
	const struct layout *l = layout_of(at->kind);
	const uint64_t kind = at->kind;
	if (!batch_room(s->w->rows.batches[l->event]))
		segment_run_end(s, s->at);
	const uint32_t room = batch_room(s->w->rows.batches[l->event]);
	struct run run = {.s = s,
		.b = s->w->rows.batches[l->event],
		.layout = l,
		.attributes = has_attributes(l, r->b),
		.slot = s->at,
		.first_ns = s->w->rows.first_ns,
		.last_ns = s->w->rows.last_ns};
	bool launches = launches_of(s->spool) && l->lasts && !s->view->owner;
	s->spool->has_nvtx = true;
	run_columns(&run);
	while (run.slot < s->end && s->records && run.rows < room && !texts_are_many(&run)) {
		r = &s->records[run.slot];
		uint64_t word = __atomic_load_n(&r->word, __ATOMIC_RELAXED);
		uint64_t bytes = word >> RECORD_LENGTH_SHIFT;
		if ((word & RECORD_KIND_MASK) != kind ||
			bytes > (uint64_t)(s->end - run.slot - 1) * RECORD_BYTES ||
			has_attributes(l, r->b) != run.attributes)
			break;
		if (__builtin_expect(launches, 0)) {
			launches_note(&run, r, (uint32_t)bytes);
			if (!s->records)
				break;
			r = &s->records[run.slot];
		}
		run.slot += 1 + (uint32_t)((bytes + RECORD_BYTES - 1) / RECORD_BYTES);
		row_put(&run, r, word, (uint32_t)bytes);
	}
	callchains_put(&run);
	for (uint32_t i = CATEGORY; !run.attributes && i <= PAYLOAD; i++)
		batch_same(run.b, l->first + i, 0, run.rows);
	batch_rows_added(run.b, run.rows);
	s->w->rows.first_ns = run.first_ns;
	s->w->rows.last_ns = run.last_ns;
	segment_tally(s)->impossible += run.impossible;
	segment_tally(s)->unfinished += run.unfinished;
	if (run.slot > s->at)
		s->overhead += run.slot - s->at - run.rows - (at->slots - 1);
	return run.slot - s->at;
}
