/* SPDX-License-Identifier: Apache-2.0 */
/* nvtx_ranges.c - statistics and nesting of NVTX ranges. */
#define _GNU_SOURCE
#include "reader/stats/nvtx_ranges.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/spool.h"
#include "reader/nvtx/columns.h"
#include "reader/stats/medians.h"

struct range_pass {
	struct nvtx_sums *sums;   /* sums to compute, or NULL */
	struct nvtx_trace *trace; /* trace to store, or NULL */
	const struct cursor_filter *filter;
	struct name_filter *names;
	struct contents *c;
	const struct contents_visitor *visitor;
	bool again; /* this is not the first pass */
	int64_t *columns;
};

char *nvtx_full_name(const struct contents *c, uint32_t domain, uint32_t text)
{
	struct string_ref d = string_table_get(&c->strings, domain),
			  t = string_table_get(&c->strings, text);
	char *name = NULL;
	if (asprintf(&name, "%.*s:%.*s", (int)d.bytes, d.bytes ? d.text : "", (int)t.bytes,
		    t.bytes ? t.text : "") < 0)
		return NULL;
	return name;
}

/* ---- sums ---- */

void nvtx_sums_init(struct nvtx_sums *s)
{
	*s = (struct nvtx_sums){0};
}

void nvtx_sums_release(struct nvtx_sums *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		durations_release(&s->groups[i]->durations);
	free(s->groups);
	map_release(&s->indexes);
	pool_release(&s->texts);
	name_filter_release(&s->names);
	*s = (struct nvtx_sums){0};
}

/* Return the group of a name, which the first pass creates. NULL = out of memory, too many groups,
 * or a name that the first pass did not see. */
static struct nvtx_group *group_of(
	struct range_pass *r, enum nvtx_style style, uint32_t domain, uint32_t text)
{
	struct nvtx_sums *s = r->sums;
	char *name = nvtx_full_name(r->c, domain, text);
	const char *kept = name ? pool_text(&s->texts, name, SIZE_MAX) : NULL;
	free(name);
	uint32_t index = map_get(&s->indexes, (uintptr_t)kept, style);
	if (!kept || index || r->again)
		return index ? s->groups[index - 1] : NULL;
	struct nvtx_group *g = s->count < NVTX_GROUPS_MAX ? pool_room(&s->texts, sizeof(*g)) : NULL;
	if (!g || array_room(&s->groups, s->count, &s->capacity, sizeof(*s->groups)) ||
		map_put(&s->indexes, (uintptr_t)kept, style, s->count + 1))
		return NULL;
	*g = (struct nvtx_group){.style = style, .name = kept};
	durations_init(&g->durations);
	return s->groups[s->count++] = g;
}

/* The last group found; neighboring rows often belong to the same group. */
struct last {
	int64_t domain, text;
	struct nvtx_group *group;
};

static int sums_take(
	struct range_pass *r, const struct event_batch *b, enum nvtx_style style, int64_t **column)
{
	struct last last = {0, 0, NULL};
	for (uint32_t i = 0; i < b->count; i++) {
		int64_t domain = column[NVTX_COLUMN_DOMAIN][i], text = column[NVTX_COLUMN_TEXT][i];
		if (r->names->pattern &&
			!name_filter_matches(r->names, &r->c->strings, (uint32_t)text))
			continue;
		if (column[NVTX_COLUMN_FLAGS][i] & RECORD_UNFINISHED) {
			r->sums->unfinished += !r->again;
			continue;
		}
		if (!last.group || last.domain != domain || last.text != text)
			last = (struct last){
				domain, text, group_of(r, style, (uint32_t)domain, (uint32_t)text)};
		if (!last.group)
			return -ENOMEM;
		uint64_t ns = (uint64_t)column[NVTX_COLUMN_DURATION][i];
		int error = column[NVTX_COLUMN_DURATION][i] < 0 ? 0
			: r->again ? durations_again(&last.group->durations, ns)
				   : durations_add(&last.group->durations, ns);
		if (error)
			return error;
	}
	return 0;
}

/* ---- trace ---- */

void nvtx_trace_init(struct nvtx_trace *t)
{
	*t = (struct nvtx_trace){0};
}

void nvtx_trace_release(struct nvtx_trace *t)
{
	free(t->ranges);
	name_filter_release(&t->names);
	*t = (struct nvtx_trace){0};
}

static int trace_take(struct range_pass *r, const struct event_batch *b, int64_t **column)
{
	struct nvtx_trace *t = r->trace;
	for (uint32_t i = 0; i < b->count; i++) {
		if (column[NVTX_COLUMN_FLAGS][i] & RECORD_UNFINISHED ||
			column[NVTX_COLUMN_DURATION][i] < 0)
			continue;
		if (r->names->pattern &&
			!name_filter_matches(
				r->names, &r->c->strings, (uint32_t)column[NVTX_COLUMN_TEXT][i]))
			continue;
		if (array_room(&t->ranges, t->count, &t->capacity, sizeof(*t->ranges)))
			return -ENOMEM;
		t->ranges[t->count++] =
			(struct nvtx_range){.start_ns = (uint64_t)column[NVTX_COLUMN_START][i],
				.end_ns = (uint64_t)column[NVTX_COLUMN_START][i] +
					(uint64_t)column[NVTX_COLUMN_DURATION][i],
				.process = b->process,
				.tid = b->tid,
				.domain = (uint32_t)column[NVTX_COLUMN_DOMAIN][i],
				.text = (uint32_t)column[NVTX_COLUMN_TEXT][i],
				.level = (uint32_t)column[NVTX_COLUMN_LEVEL][i]};
	}
	return 0;
}

static int compare_times(const struct nvtx_range *x, const struct nvtx_range *y)
{
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return x->level < y->level ? -1 : x->level > y->level;
}

static int compare_starts(const void *a, const void *b)
{
	const struct nvtx_range *x = a, *y = b;
	int times = compare_times(x, y);
	if (times)
		return times;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int compare_threads(const void *a, const void *b, void *user)
{
	const struct nvtx_range *ranges = user, *x = &ranges[*(const uint32_t *)a],
				*y = &ranges[*(const uint32_t *)b];
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* Find the parent of a range: the innermost range of its thread that ends no earlier. Ranges of
 * different domains may overlap without being nested. */
static void range_nest(struct nvtx_trace *t, uint32_t index, uint32_t outer)
{
	struct nvtx_range *r = &t->ranges[index];
	while (outer) {
		struct nvtx_range *o = &t->ranges[outer - 1];
		if (o->process == r->process && o->tid == r->tid && o->end_ns >= r->end_ns &&
			(o->end_ns > r->start_ns || r->start_ns == r->end_ns))
			break;
		outer = o->parent;
	}
	r->parent = outer;
	r->level = outer ? t->ranges[outer - 1].level + 1 : 0;
	if (outer) {
		t->ranges[outer - 1].children++;
		t->ranges[outer - 1].children_ns += r->end_ns - r->start_ns;
	}
}

static int trace_nest(struct nvtx_trace *t)
{
	uint32_t *order = t->count ? malloc(t->count * sizeof(*order)) : NULL;
	if (t->count && !order)
		return -ENOMEM;
	if (t->count)
		qsort(t->ranges, t->count, sizeof(*t->ranges), compare_starts);
	for (uint32_t i = 0; i < t->count; i++)
		order[i] = i;
	if (t->count)
		qsort_r(order, t->count, sizeof(*order), compare_threads, t->ranges);
	for (uint32_t i = 0; i < t->count; i++)
		range_nest(t, order[i], i ? order[i - 1] + 1 : 0);
	free(order);
	return 0;
}

/* ---- passes ---- */

static int visit_batch(void *user, struct walk *walk, const struct event_batch *b)
{
	struct range_pass *r = user;
	int64_t *column[NVTX_COLUMNS];
	const struct process *p =
		r->filter->pid ? process_find(&r->c->processes, b->process) : NULL;
	bool push_pop = b->kind == KIND_NVTX_RANGE;
	if ((!push_pop && (b->kind != KIND_NVTX_START_END || r->trace)) ||
		(r->filter->tid && r->filter->tid != b->tid) ||
		(r->filter->pid && (!p || p->facts->pid != r->filter->pid)))
		return 0;
	if (!nvtx_columns_decode(b, r->columns, column)) {
		if (!r->again)
			walk_problem(walk, walk->block.offset,
				"number of rows of a column differs from that of its batch");
		return 0;
	}
	return r->trace ? trace_take(r, b, column)
			: sums_take(r, b, push_pop ? NVTX_PUSH_POP : NVTX_START_END, column);
}

static int visit_block(void *user, const struct report_block *block)
{
	return contents_visit_block(((struct range_pass *)user)->visitor, block);
}

static void visit_problem(void *user, uint64_t offset, const char *cause)
{
	contents_report_problem(((struct range_pass *)user)->visitor, offset, cause);
}

static int read_first(struct range_pass *r, const struct report *report)
{
	const struct contents_visitor first = {r, visit_block, visit_batch, visit_problem};
	r->columns = malloc((size_t)NVTX_COLUMNS * BATCH_ROWS_MAX * sizeof(*r->columns));
	r->names->pattern = r->filter->name;
	return r->columns ? contents_read(r->c, report, &first) : -ENOMEM;
}

static struct durations *durations_at(void *user, uint32_t index)
{
	return &((struct nvtx_sums *)user)->groups[index]->durations;
}

static int compare_totals(const void *a, const void *b)
{
	const struct nvtx_group *x = *(struct nvtx_group *const *)a,
				*y = *(struct nvtx_group *const *)b;
	if (x->durations.total != y->durations.total)
		return x->durations.total < y->durations.total ? 1 : -1;
	int names = strcmp(x->name, y->name);
	return names ? names : (int)x->style - (int)y->style;
}

int nvtx_sums_read(struct nvtx_sums *s, struct contents *c, const struct report *r,
	const struct contents_visitor *visitor)
{
	struct range_pass pass = {
		.sums = s, .filter = &s->filter, .names = &s->names, .c = c, .visitor = visitor};
	const struct contents_visitor again = {&pass, visit_block, visit_batch, NULL};
	uint32_t passes;
	int error = read_first(&pass, r);
	const struct medians medians = {s, s->count, durations_at};
	pass.again = true;
	if (!error)
		error = medians_find(&medians, r, &again, &passes);
	if (!error && s->count)
		qsort(s->groups, s->count, sizeof(*s->groups), compare_totals);
	free(pass.columns);
	return error;
}

int nvtx_trace_read(struct nvtx_trace *t, struct contents *c, const struct report *r,
	const struct contents_visitor *visitor)
{
	struct range_pass pass = {
		.trace = t, .filter = &t->filter, .names = &t->names, .c = c, .visitor = visitor};
	int error = read_first(&pass, r);
	free(pass.columns);
	return error ? error : trace_nest(t);
}
