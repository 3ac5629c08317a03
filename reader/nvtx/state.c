/* SPDX-License-Identifier: Apache-2.0 */
/* state.c - index of the NVTX ranges of a report, for looking up which are open at a time. */
#include "reader/nvtx/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/spool.h"
#include "reader/nvtx/columns.h"

struct state_range {
	uint64_t start_ns, end_ns, names;
	uint32_t process, tid, domain;
	uint32_t level;  /* nesting level as recorded */
	uint32_t parent; /* 1 + index of the enclosing range, 0 = none */
	uint32_t holds;  /* bits of the expressions that match while this range is the innermost */
};

struct state_group {
	uint32_t process, tid, first, count;
};

struct state_span {
	uint64_t start_ns, end_ns;
	uint64_t latest_ns; /* greatest end up to this span, of the same process and name */
	uint32_t process, name;
};

struct state_domain {
	char *text;
	uint32_t expressions; /* expressions about the domain, as bits */
	uint64_t names;       /* names in these expressions, as bits */
};

/* Caches of lookups by string id: neighboring rows mostly have the same ids. */
#define CACHED_NAMES 4096u
struct cached_name {
	uint32_t id; /* 0 = empty */
	uint32_t domain;
	uint64_t names;
};

struct range_reader {
	struct nvtx_state *state;
	struct contents *c;
	struct state_domain domains[NVTX_STATE_DOMAINS];
	uint32_t domain_count;
	struct cached_name texts[CACHED_NAMES], domain_ids[CACHED_NAMES];
	int64_t *columns;
};

/* ---- names and domains ---- */

static const char *text_of(const struct range_reader *r, uint32_t id)
{
	struct string_ref ref = string_table_get(&r->c->strings, id);
	return ref.bytes ? ref.text : "";
}

static uint64_t names_of(struct range_reader *r, uint32_t id)
{
	struct cached_name *m = &r->texts[id % CACHED_NAMES];
	if (m->id != id || !id)
		*m = (struct cached_name){
			id, 0, nvtx_filter_names(r->state->filter, text_of(r, id))};
	return m->names;
}

static int domain_add(struct range_reader *r, const char *text)
{
	const struct nvtx_filter *f = r->state->filter;
	if (r->domain_count == NVTX_STATE_DOMAINS)
		return -E2BIG;
	struct state_domain *d = &r->domains[r->domain_count];
	*d = (struct state_domain){strdup(text), nvtx_filter_domains(f, text), 0};
	if (!d->text)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->count; i++)
		for (uint32_t n = 0; d->expressions >> i & 1 && n < f->expressions[i].count; n++)
			if (f->expressions[i].elements[n].kind == ELEMENT_NAME)
				d->names |= UINT64_C(1) << f->expressions[i].elements[n].name;
	return (int)r->domain_count++;
}

/* Return the index of a domain in r->domains, or a negative errno. Several ids may have the same
 * text. */
static int domain_of(struct range_reader *r, uint32_t id)
{
	struct cached_name *m = &r->domain_ids[id % CACHED_NAMES];
	if (m->id == id && id)
		return (int)m->domain;
	const char *text = text_of(r, id);
	int number = -1;
	for (uint32_t i = 0; i < r->domain_count && number < 0; i++)
		if (!strcmp(r->domains[i].text, text))
			number = (int)i;
	if (number < 0)
		number = domain_add(r, text);
	if (number >= 0)
		*m = (struct cached_name){id, (uint32_t)number, 0};
	return number;
}

/* ---- rows ---- */

/* Make room for one more element. A hostile report can claim any count, so counts are bounded. */
static int grow(void *array, uint32_t *capacity, uint32_t count, size_t bytes)
{
	return count == NVTX_STATE_RANGES ? -E2BIG : array_room(array, count, capacity, bytes);
}

static int range_take(struct range_reader *r, const struct state_range *range)
{
	struct nvtx_state *s = r->state;
	int error = grow(&s->ranges, &s->range_capacity, s->range_count, sizeof(*range));
	if (!error)
		s->ranges[s->range_count++] = *range;
	return error;
}

static int span_take(struct range_reader *r, const struct state_range *range, uint64_t names)
{
	struct nvtx_state *s = r->state;
	for (uint32_t name = 0; names; names &= names - 1) {
		name = (uint32_t)__builtin_ctzll(names);
		int error = grow(&s->spans, &s->span_capacity, s->span_count, sizeof(*s->spans));
		if (error)
			return error;
		s->spans[s->span_count++] = (struct state_span){
			range->start_ns, range->end_ns, 0, range->process, name};
	}
	return 0;
}

static int visit_batch(void *user, struct walk *walk, const struct event_batch *b)
{
	struct range_reader *r = user;
	int64_t *column[NVTX_COLUMNS];
	int error = 0;
	(void)walk;
	if ((b->kind != KIND_NVTX_RANGE && b->kind != KIND_NVTX_START_END) ||
		!nvtx_columns_decode(b, r->columns, column))
		return 0;
	for (uint32_t i = 0; i < b->count && !error; i++) {
		int domain = domain_of(r, (uint32_t)column[NVTX_COLUMN_DOMAIN][i]);
		if (domain < 0)
			return domain;
		const struct state_domain *d = &r->domains[domain];
		if (!d->expressions || column[NVTX_COLUMN_DURATION][i] < 0)
			continue;
		const struct state_range range = {
			.start_ns = (uint64_t)column[NVTX_COLUMN_START][i],
			.end_ns = (uint64_t)column[NVTX_COLUMN_START][i] +
				(uint64_t)column[NVTX_COLUMN_DURATION][i],
			.names = names_of(r, (uint32_t)column[NVTX_COLUMN_TEXT][i]) & d->names,
			.process = b->process,
			.tid = b->tid,
			.domain = (uint32_t)domain,
			.level = (uint32_t)column[NVTX_COLUMN_LEVEL][i]};
		error = b->kind == KIND_NVTX_RANGE ? range_take(r, &range)
						   : span_take(r, &range, range.names);
	}
	return error;
}

/* ---- nesting ---- */

#define COMPARE(field)            \
	if (x->field != y->field) \
	return x->field < y->field ? -1 : 1

static int compare_ranges(const void *a, const void *b)
{
	const struct state_range *x = a, *y = b;
	COMPARE(process);
	COMPARE(tid);
	COMPARE(domain);
	COMPARE(start_ns);
	COMPARE(level);
	return 0;
}

static int compare_spans(const void *a, const void *b)
{
	const struct state_span *x = a, *y = b;
	COMPARE(process);
	COMPARE(name);
	COMPARE(start_ns);
	return 0;
}

/* The ranges that are open while the ranges of a group are visited in the order of their starts. */
struct open_ranges {
	uint32_t *index; /* indexes of the ranges, innermost last */
	struct nvtx_stack *stack;
	uint32_t count, capacity;
};

static int open_grow(struct open_ranges *o)
{
	uint32_t capacity = o->capacity;
	if (o->count > NVTX_LEVEL_MASK)
		return -E2BIG;
	if (grow(&o->index, &capacity, o->count, sizeof(*o->index)))
		return -ENOMEM;
	return grow(&o->stack, &o->capacity, o->count, sizeof(*o->stack));
}

static bool is_around(const struct state_range *outer, const struct state_range *inner)
{
	return outer->level < inner->level &&
		(outer->end_ns > inner->start_ns || outer->start_ns == inner->start_ns);
}

static int range_nest(
	struct nvtx_state *s, struct open_ranges *o, uint32_t at, const struct state_domain *d)
{
	struct state_range *r = &s->ranges[at];
	while (o->count && !is_around(&s->ranges[o->index[o->count - 1]], r))
		o->count--;
	int error = open_grow(o);
	if (error)
		return error;
	r->parent = o->count ? o->index[o->count - 1] + 1 : 0;
	nvtx_stack_push(s->filter, o->count ? &o->stack[o->count - 1] : NULL, d->expressions,
		r->names, &o->stack[o->count]);
	r->holds = o->stack[o->count].holds;
	o->index[o->count++] = at;
	return 0;
}

static bool same_group(const struct state_range *a, const struct state_range *b)
{
	return a->process == b->process && a->tid == b->tid && a->domain == b->domain;
}

static int groups_make(struct nvtx_state *s, const struct state_domain *domains)
{
	struct open_ranges open = {0};
	int error = 0;
	for (uint32_t i = 0; i < s->range_count && !error; i++) {
		const struct state_range *r = &s->ranges[i];
		if (!i || !same_group(r, r - 1)) {
			open.count = 0;
			error = grow(
				&s->groups, &s->group_capacity, s->group_count, sizeof(*s->groups));
			if (error)
				break;
			s->groups[s->group_count++] =
				(struct state_group){r->process, r->tid, i, 0};
		}
		s->groups[s->group_count - 1].count++;
		error = range_nest(s, &open, i, &domains[r->domain]);
	}
	free(open.index);
	free(open.stack);
	return error;
}

static void spans_close(struct nvtx_state *s)
{
	for (uint32_t i = 0; i < s->span_count; i++) {
		struct state_span *span = &s->spans[i];
		bool first = !i || span[-1].process != span->process || span[-1].name != span->name;
		span->latest_ns = first || span[-1].latest_ns < span->end_ns ? span->end_ns
									     : span[-1].latest_ns;
	}
}

int nvtx_state_read(struct nvtx_state *s, const struct nvtx_filter *filter, struct contents *c,
	const struct report *report)
{
	*s = (struct nvtx_state){.filter = filter};
	struct range_reader *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->state = s;
	r->c = c;
	r->columns = malloc((size_t)NVTX_COLUMNS * BATCH_ROWS_MAX * sizeof(*r->columns));
	const struct contents_visitor visitor = {r, NULL, visit_batch, NULL};
	int error = r->columns ? contents_read(c, report, &visitor) : -ENOMEM;
	if (s->range_count)
		qsort(s->ranges, s->range_count, sizeof(*s->ranges), compare_ranges);
	if (s->span_count)
		qsort(s->spans, s->span_count, sizeof(*s->spans), compare_spans);
	if (!error)
		error = groups_make(s, r->domains);
	spans_close(s);
	for (uint32_t i = 0; i < r->domain_count; i++)
		free(r->domains[i].text);
	free(r->columns);
	free(r);
	return error;
}

void nvtx_state_release(struct nvtx_state *s)
{
	free(s->ranges);
	free(s->groups);
	free(s->spans);
	*s = (struct nvtx_state){0};
}

/* ---- lookup ---- */

static bool is_open(uint64_t start_ns, uint64_t end_ns, uint64_t time_ns)
{
	return end_ns > time_ns || start_ns == time_ns;
}

/* Return the expressions that match according to one group. */
static uint32_t group_at(const struct nvtx_state *s, const struct state_group *g, uint64_t time_ns)
{
	uint32_t low = g->first, high = g->first + g->count;
	while (low < high) { /* find the first range that starts later */
		uint32_t middle = low + (high - low) / 2;
		if (s->ranges[middle].start_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t at = low == g->first ? 0 : low; at; at = s->ranges[at - 1].parent) {
		const struct state_range *r = &s->ranges[at - 1];
		if (is_open(r->start_ns, r->end_ns, time_ns))
			return r->holds;
	}
	return 0;
}

/* Return true if a group sorts before the groups of this process and thread. */
static bool is_group_before(const struct state_group *g, uint32_t process, uint32_t tid)
{
	return g->process != process ? g->process < process : g->tid < tid;
}

static uint32_t push_pop_at(
	const struct nvtx_state *s, uint32_t process, uint32_t tid, uint64_t time_ns)
{
	uint32_t low = 0, high = s->group_count, holds = 0;
	const bool all_threads = s->filter->of_process;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (is_group_before(&s->groups[middle], process, all_threads ? 0 : tid))
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < s->group_count && s->groups[low].process == process &&
		(all_threads || s->groups[low].tid == tid);
		low++)
		holds |= group_at(s, &s->groups[low], time_ns);
	return holds;
}

static bool is_span_open(
	const struct nvtx_state *s, uint32_t process, uint32_t name, uint64_t time_ns)
{
	const struct state_span key = {.process = process, .name = name, .start_ns = time_ns};
	uint32_t low = 0, high = s->span_count;
	while (low < high) { /* find the first span that starts later */
		uint32_t middle = low + (high - low) / 2;
		if (compare_spans(&s->spans[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	const struct state_span *last = low ? &s->spans[low - 1] : NULL;
	return last && last->process == process && last->name == name &&
		is_open(last->start_ns, last->latest_ns, time_ns);
}

static uint32_t start_end_at(const struct nvtx_state *s, uint32_t process, uint64_t time_ns)
{
	uint32_t holds = 0;
	for (uint32_t i = 0; s->span_count && i < s->filter->count; i++) {
		const struct nvtx_expression *e = &s->filter->expressions[i];
		uint64_t open = 0;
		for (uint32_t n = 0; !e->is_push_pop && n < e->count; n++)
			if (is_span_open(s, process, e->elements[n].name, time_ns))
				open |= UINT64_C(1) << e->elements[n].name;
		holds |= (uint32_t)nvtx_filter_all_open(e, open) << i;
	}
	return holds;
}

uint32_t nvtx_state_at(const struct nvtx_state *s, uint32_t process, uint32_t tid, uint64_t time_ns)
{
	return push_pop_at(s, process, tid, time_ns) | start_end_at(s, process, time_ns);
}
