/* SPDX-License-Identifier: Apache-2.0 */
/* deferred.c - deferred NVTX events as marks and ranges with times of the report. */
#define _GNU_SOURCE
#include "reader/nvtx/deferred.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/spool.h"
#include "reader/base/order.h"
#include "reader/base/pool.h"
#include "reader/file/append.h"
#include "reader/nvtx/clocks.h"
#include "reader/nvtx/facts.h"

/* Clocks are not read at the same instant: an event that begins with its process may seem to
 * precede it. */
#define SLACK_NS 1000000000

/* An event with a time and a thread. */
struct deferred_event {
	uint32_t kind, process, tid;
	uint32_t domain; /* Strings id */
	uint32_t category, color, level;
	int64_t start_ns, end_ns;
	uint64_t payload, range_id;
	const char *text; /* text in the pool */
};

struct deferred_reader {
	struct nvtx_deferred *d;
	struct contents contents;
	struct nvtx_payloads payloads;
	struct nvtx_clocks clocks;
	struct append append;
	struct pool pool;
	const struct nvtx_deferred_row *row; /* current row */
	uint64_t domain;                     /* key of its domain */
	int64_t first_ns, last_ns;           /* time span of the report, with slack */
	uint64_t next_sequence;
	struct deferred_event *events;
	uint32_t count, capacity;
};

static const char *const texts[] = {
#define UNPLACED(id, text) [NVTX_UNPLACED_##id] = text,
	NVTX_UNPLACED_REASONS
#undef UNPLACED
};

const char *nvtx_unplaced_text(enum nvtx_unplaced reason)
{
	return texts[reason];
}

uint64_t nvtx_deferred_unplaced(const struct nvtx_deferred *d)
{
	uint64_t count = 0;
	for (int i = 0; i < NVTX_UNPLACED_COUNT; i++)
		count += d->unplaced[i];
	return count;
}

/* ---- times ---- */

/* Convert a time to the session clock. If no clock is specified, nvtxTimestampGet() is assumed,
 * provided that the result is in the time span of the report. Returns NVTX_UNPLACED_COUNT on
 * success. */
static enum nvtx_unplaced time_place(struct deferred_reader *z, const struct nvtx_event_facts *f,
	const struct nvtx_event_time *t, int64_t *ret_ns)
{
	const struct nvtx_key entry = {.process = z->row->key.process,
		.domain = z->domain,
		.id = t->layout,
		.index = t->entry,
		.time_ns = z->row->key.time_ns};
	uint64_t clock = nvtx_entry_clock(&z->payloads, entry);
	if (!clock)
		clock = nvtx_clock_of_scope(&z->clocks, z->domain, f->scope);
	enum nvtx_clock_result result = nvtx_clock_ns(
		&z->clocks, z->domain, clock ? clock : NVTX_CLOCK_TOOL, t->ticks, ret_ns);
	if (result != NVTX_CLOCK_OK)
		return result == NVTX_CLOCK_NO_RATE ? NVTX_UNPLACED_NO_RATE : NVTX_UNPLACED_NO_WAY;
	if (*ret_ns < z->first_ns || *ret_ns > z->last_ns)
		return clock ? NVTX_UNPLACED_OUTSIDE : NVTX_UNPLACED_NO_CLOCK;
	return NVTX_UNPLACED_COUNT;
}

static uint32_t kind_of(const struct nvtx_event_facts *f)
{
	if (f->what == NVTX_SCHEMA_MARK || (!f->what && f->is_mark))
		return KIND_NVTX_MARK;
	if (f->what == NVTX_SCHEMA_PUSH_POP)
		return KIND_NVTX_RANGE;
	if (f->what == NVTX_SCHEMA_START_END || f->is_begin || f->is_end || f->end.is_set)
		return KIND_NVTX_START_END;
	return KIND_NVTX_MARK;
}

static enum nvtx_unplaced event_place(
	struct deferred_reader *z, const struct nvtx_event_facts *f, struct deferred_event *event)
{
	enum nvtx_unplaced why;
	if (!f->begin.is_set && !f->end.is_set)
		return NVTX_UNPLACED_NO_TIME;
	event->kind = kind_of(f);
	if (event->kind == KIND_NVTX_MARK) {
		why = time_place(z, f, f->begin.is_set ? &f->begin : &f->end, &event->start_ns);
		event->end_ns = event->start_ns;
		return why;
	}
	if (!f->begin.is_set || !f->end.is_set)
		return NVTX_UNPLACED_HALF;
	why = time_place(z, f, &f->begin, &event->start_ns);
	if (why == NVTX_UNPLACED_COUNT)
		why = time_place(z, f, &f->end, &event->end_ns);
	if (why == NVTX_UNPLACED_COUNT && event->end_ns < event->start_ns)
		why = NVTX_UNPLACED_REVERSED;
	return why;
}

/* ---- events ---- */

/* Return the thread of an event: the thread stated in the payload, else the submitting thread; 0 if
 * the scope of the event is not a thread. */
static uint32_t thread_of(const struct deferred_reader *z, const struct nvtx_event_facts *f)
{
	if (f->tid)
		return f->tid;
	bool of_thread = f->scope == NVTX_SCOPE_NONE || f->scope == NVTX_SCOPE_THREAD ||
		f->scope == NVTX_SCOPE_INNERMOST;
	return of_thread ? z->row->tid : 0;
}

static int event_take(void *user, uint64_t index, const struct nvtx_event_facts *f)
{
	struct deferred_reader *z = user;
	uint64_t payload = z->row->key.id;
	struct deferred_event event = {.process = z->row->key.process,
		.tid = thread_of(z, f),
		.domain = z->row->domain,
		.category = f->category,
		.color = f->color,
		.range_id = f->range_id};
	enum nvtx_unplaced why = z->count == NVTX_DEFERRED_EVENTS_MAX ? NVTX_UNPLACED_TOO_MANY
								      : event_place(z, f, &event);
	if (why != NVTX_UNPLACED_COUNT) {
		z->d->unplaced[why]++;
		return 0;
	}
	if (array_room(&z->events, z->count, &z->capacity, sizeof(*z->events)))
		return -ENOMEM;
	if (payload < NVTX_EVENT_PAYLOADS_MAX)
		event.payload = z->row->is_batch ? nvtx_event_of_batch(payload, index) : payload;
	event.text = pool_text(&z->pool, f->text, f->text_bytes);
	if (!event.text)
		return -ENOMEM;
	z->events[z->count++] = event;
	return 0;
}

static int rows_read(struct deferred_reader *z)
{
	const struct nvtx_deferred_row *rows = z->payloads.deferred.rows;
	int error = 0;
	for (uint32_t i = 0; !error && i < z->payloads.deferred.count; i++) {
		uint64_t missing = 0;
		z->row = &rows[i];
		z->domain = nvtx_domain_key(&z->contents, rows[i].domain);
		error = nvtx_clocks_seek(&z->clocks, rows[i].key.process);
		if (!error)
			error = nvtx_facts_read(&z->payloads, &rows[i], event_take, z, &missing);
		z->d->unplaced[NVTX_UNPLACED_MISSING] += missing;
	}
	z->d->submissions = z->payloads.deferred.count;
	z->d->placed = z->count;
	return error;
}

/* ---- order ---- */

static int compare_events(const void *p, const void *q)
{
	const struct deferred_event *a = p, *b = q;
	int order = compare_u64(a->kind, b->kind);
	if (!order)
		order = compare_u64(a->process, b->process);
	if (!order)
		order = compare_u64(a->tid, b->tid);
	if (!order)
		order = compare_u64(a->domain, b->domain);
	if (!order)
		order = compare_u64((uint64_t)a->start_ns, (uint64_t)b->start_ns);
	return order ? order : -compare_u64((uint64_t)a->end_ns, (uint64_t)b->end_ns);
}

static bool is_same_stack(const struct deferred_event *a, const struct deferred_event *b)
{
	return a->kind == b->kind && a->process == b->process && a->tid == b->tid &&
		a->domain == b->domain;
}

/* Set the nesting level of each deferred push/pop range. `around`: ends of the open ranges. */
static int levels_find(struct deferred_reader *z)
{
	int64_t *around = malloc((z->count + 1) * sizeof(*around));
	uint32_t open = 0;
	for (uint32_t i = 0; around && i < z->count; i++) {
		struct deferred_event *e = &z->events[i];
		if (e->kind != KIND_NVTX_RANGE)
			continue;
		if (i && !is_same_stack(e, e - 1))
			open = 0;
		while (open && around[open - 1] < e->end_ns)
			open--;
		e->level = open;
		around[open++] = e->end_ns;
	}
	free(around);
	return around ? 0 : -ENOMEM;
}

/* ---- rows ---- */

#define SET(event_id, column, value) \
	row[schema_column_index(event, FIELD_##event_id##_##column)] = (int64_t)(value)
#define SET_COMMON(event_id)                                                               \
	do {                                                                               \
		SET(event_id, DOMAIN, e->domain);                                          \
		SET(event_id, TEXT, append_text(&z->append, e->text));                     \
		SET(event_id, CATEGORY, e->category);                                      \
		SET(event_id, COLOR, e->color);                                            \
		SET(event_id, PAYLOAD_TYPE, e->payload ? PAYLOAD_EXTENDED : PAYLOAD_NONE); \
		SET(event_id, PAYLOAD, e->payload);                                        \
		SET(event_id, FLAGS, RECORD_DEFERRED);                                     \
	} while (0)

static void row_fill(struct deferred_reader *z, const struct deferred_event *e, int64_t *row)
{
	const struct schema_event *event = schema_event(e->kind);
	memset(row, 0, event->field_count * sizeof(*row));
	row[0] = e->start_ns;
	if (e->kind == KIND_NVTX_MARK) {
		SET_COMMON(NVTX_MARK);
	} else if (e->kind == KIND_NVTX_RANGE) {
		SET_COMMON(NVTX_RANGE);
		SET(NVTX_RANGE, DURATION, e->end_ns - e->start_ns);
		SET(NVTX_RANGE, LEVEL, e->level);
	} else {
		SET_COMMON(NVTX_START_END);
		SET(NVTX_START_END, DURATION, e->end_ns - e->start_ns);
		SET(NVTX_START_END, RANGE_ID, e->range_id);
		SET(NVTX_START_END, START_TID, e->tid);
	}
}

static int rows_append(struct deferred_reader *z)
{
	uint32_t count = 0;
	int64_t *values = malloc((size_t)APPEND_ROWS_MAX * SCHEMA_FIELDS * sizeof(*values));
	if (!values)
		return -ENOMEM;
	append_texts_begin(&z->append, z->contents.strings.last_id);
	for (uint32_t i = 0; i < z->count; i++) {
		const struct deferred_event *e = &z->events[i], *next = e + 1;
		row_fill(z, e, values + (size_t)count++ * schema_event(e->kind)->field_count);
		if (i + 1 < z->count && next->kind == e->kind && next->process == e->process &&
			next->tid == e->tid && count < APPEND_ROWS_MAX &&
			z->append.strings.bytes < APPEND_BLOCK_BYTES)
			continue;
		append_rows(&z->append, e->kind, e->process, e->tid, count, values);
		count = 0;
	}
	free(values);
	return append_texts_end(&z->append);
}

static void unplaced_append(struct deferred_reader *z)
{
	for (int i = 0; i < NVTX_UNPLACED_COUNT; i++) {
		Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
		Libtrace__Diagnostic diagnostic = LIBTRACE__DIAGNOSTIC__INIT;
		char text[160];
		if (!z->d->unplaced[i])
			continue;
		snprintf(text, sizeof(text),
			"deferred NVTX events not placed in time: %" PRIu64 " (%s)",
			z->d->unplaced[i], texts[i]);
		diagnostic.has_time_ns = true;
		diagnostic.time_ns = (uint64_t)(z->last_ns - SLACK_NS);
		diagnostic.text = text;
		entry.diagnostic = &diagnostic;
		append_entry(&z->append, &entry);
	}
}

/* ---- the pass ---- */

static int visit_block(void *user, const struct report_block *block)
{
	struct deferred_reader *z = user;
	append_note(&z->append, block);
	return 0;
}

static int visit_batch(void *user, struct walk *walk, const struct event_batch *b)
{
	struct deferred_reader *z = user;
	(void)walk;
	return nvtx_payloads_take(&z->payloads, b);
}

static void times_find(struct deferred_reader *z)
{
	const struct contents *c = &z->contents;
	uint64_t first = c->session ? c->session->start_ns : c->first_ns, last = c->last_ns;
	for (size_t i = 0; i < c->processes.count; i++)
		if (c->processes.rows[i]->facts->end_ns > last)
			last = c->processes.rows[i]->facts->end_ns;
	z->first_ns = first > INT64_MAX ? INT64_MAX : (int64_t)first - SLACK_NS;
	z->last_ns = last > INT64_MAX - SLACK_NS ? INT64_MAX : (int64_t)last + SLACK_NS;
}

static int all_make(struct deferred_reader *z, struct report *r, bool adds)
{
	size_t bytes;
	times_find(z);
	nvtx_payloads_ready(&z->payloads);
	int error = rows_read(z);
	if (error || !adds)
		return error;
	if (z->count)
		qsort(z->events, z->count, sizeof(*z->events), compare_events);
	error = levels_find(z);
	if (!error)
		error = rows_append(z);
	if (error)
		return error;
	unplaced_append(z);
	z->append.compress = false;
	error = append_blocks(&z->append, &z->d->blocks, &bytes);
	r->source.tail = z->d->blocks;
	r->source.tail_bytes = error ? 0 : bytes;
	return error;
}

/* Return true if a block header counts deferred events, or cannot be read. */
static bool may_have_some(const struct report *r)
{
	struct report_block block;
	const char *cause;
	bool may = false;
	report_block_init(&block);
	for (uint64_t at = r->first_block; !may && at < r->source.size; at = block.end)
		may = report_block_find(&block, &r->source, at, &cause) ||
			(block.own && block.own->num_deferred);
	report_block_release(&block);
	return may;
}

int nvtx_deferred_read(struct nvtx_deferred *d, struct report *r, bool adds)
{
	*d = (struct nvtx_deferred){0};
	if (!may_have_some(r))
		return 0;
	struct deferred_reader z = {.d = d};
	const struct contents_visitor visitor = {&z, visit_block, visit_batch, NULL};
	append_start(&z.append);
	contents_init(&z.contents);
	nvtx_payloads_init(&z.payloads, &z.contents);
	nvtx_clocks_init(&z.clocks, &z.payloads);
	int error = contents_read(&z.contents, r, &visitor);
	if (!error)
		error = all_make(&z, r, adds);
	free(z.events);
	pool_release(&z.pool);
	append_close(&z.append);
	nvtx_clocks_release(&z.clocks);
	nvtx_payloads_release(&z.payloads);
	contents_release(&z.contents);
	return error;
}

void nvtx_deferred_release(struct nvtx_deferred *d)
{
	free(d->blocks);
	*d = (struct nvtx_deferred){0};
}
