/* SPDX-License-Identifier: Apache-2.0 */
/* osrt.c - totals of OS runtime calls by function. */
#include "reader/stats/osrt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/spool.h"
#include "reader/stats/medians.h"

struct osrt_pass {
	struct osrt_totals *t;
	struct contents *c;
	const struct contents_visitor *visitor;
	bool again; /* this is not the first pass */
};

void osrt_totals_init(struct osrt_totals *t)
{
	*t = (struct osrt_totals){0};
}

void osrt_totals_release(struct osrt_totals *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		durations_release(&t->functions[i]->calls);
		free(t->functions[i]->name);
		free(t->functions[i]);
	}
	free(t->functions);
	free(t->ids);
	free(t->columns);
	name_filter_release(&t->names);
	*t = (struct osrt_totals){0};
}

static struct osrt_id *id_slot(const struct osrt_totals *t, uint32_t id)
{
	uint32_t i = id * 2654435769u >> 8 & (t->id_capacity - 1);
	while (t->ids[i].function && t->ids[i].id != id)
		i = (i + 1) & (t->id_capacity - 1);
	return &t->ids[i];
}

static int ids_grow(struct osrt_totals *t)
{
	struct osrt_id *old = t->ids;
	uint32_t old_capacity = t->id_capacity;
	struct osrt_id *ids = calloc(old_capacity ? old_capacity * 2 : 1024, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	t->ids = ids;
	t->id_capacity = old_capacity ? old_capacity * 2 : 1024;
	for (uint32_t i = 0; i < old_capacity; i++)
		if (old[i].function)
			*id_slot(t, old[i].id) = old[i];
	free(old);
	return 0;
}

static struct osrt_function *function_named(struct osrt_totals *t, const char *name)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (!strcmp(t->functions[i]->name, name))
			return t->functions[i];
	if (!t->functions)
		t->functions = calloc(OSRT_FUNCTIONS_MAX, sizeof(*t->functions));
	struct osrt_function *f =
		t->functions && t->count < OSRT_FUNCTIONS_MAX ? calloc(1, sizeof(*f)) : NULL;
	if (!f)
		return NULL;
	f->name = strdup(name);
	if (!f->name) {
		free(f);
		return NULL;
	}
	durations_init(&f->calls);
	return t->functions[t->count++] = f;
}

/* Add an id of a function. A function may have several ids, because a writer replaces a string
 * table that grew too large. */
static struct osrt_function *function_new_id(struct osrt_pass *r, uint32_t id)
{
	struct osrt_totals *t = r->t;
	char unnamed[32];
	struct string_ref name = string_table_get(&r->c->strings, id);
	snprintf(unnamed, sizeof(unnamed), "[string %u]", id);
	if (t->id_count >= OSRT_FUNCTIONS_MAX || (t->id_count * 2 >= t->id_capacity && ids_grow(t)))
		return NULL;
	struct osrt_function *f = function_named(t, name.bytes ? name.text : unnamed);
	if (f) {
		*id_slot(t, id) = (struct osrt_id){id, f};
		t->id_count++;
	}
	return f;
}

static inline struct osrt_function *function_of(struct osrt_pass *r, uint32_t id)
{
	if (r->t->id_capacity) {
		struct osrt_function *f = id_slot(r->t, id)->function;
		if (__builtin_expect(f != NULL, 1))
			return f;
	}
	return r->again ? NULL : function_new_id(r, id);
}

static int64_t *column(
	struct osrt_totals *t, const struct event_batch *b, uint32_t place, uint32_t field)
{
	if (!t->columns)
		t->columns = malloc(4 * BATCH_ROWS_MAX * sizeof(*t->columns));
	int64_t *values = t->columns ? t->columns + (size_t)place * BATCH_ROWS_MAX : NULL;
	return values && !event_batch_column(b, field, values) ? values : NULL;
}

static int batch_bad(struct osrt_pass *r, struct walk *walk, const char *cause)
{
	if (!r->t->columns)
		return -ENOMEM;
	if (!r->again)
		walk_problem(walk, walk->block.offset, cause);
	return 0;
}

static const char ROWS_DIFFER[] = "number of rows of a column differs from that of its batch";

static inline bool is_wanted(struct osrt_pass *r, uint32_t function)
{
	return !r->t->names.pattern || name_filter_matches(&r->t->names, &r->c->strings, function);
}

static int take_summary(struct osrt_pass *r, struct walk *walk, const struct event_batch *b)
{
	const int64_t *function = column(r->t, b, 0, FIELD_OSRT_SUMMARY_FUNCTION);
	const int64_t *count = function ? column(r->t, b, 1, FIELD_OSRT_SUMMARY_COUNT) : NULL;
	const int64_t *total = count ? column(r->t, b, 2, FIELD_OSRT_SUMMARY_TOTAL) : NULL;
	if (!total)
		return batch_bad(r, walk, ROWS_DIFFER);
	for (uint32_t i = 0; i < b->count; i++) {
		if (!is_wanted(r, (uint32_t)function[i]))
			continue;
		struct osrt_function *f = function_of(r, (uint32_t)function[i]);
		if (!f)
			return batch_bad(r, walk, "too many functions");
		f->summary_count += (uint64_t)count[i];
		f->summary_ns += (uint64_t)total[i];
	}
	return 0;
}

static int take_call(struct osrt_pass *r, struct osrt_function *f, int64_t duration, int64_t flags)
{
	if (duration < 0)
		return 0;
	if (flags & RECORD_UNFINISHED) {
		f->unfinished += !r->again;
		return 0;
	}
	return r->again ? durations_again(&f->calls, (uint64_t)duration)
			: durations_add(&f->calls, (uint64_t)duration);
}

/* Add recorded calls, or calls of the OS runtime that `trace import` read. */
static int take_calls(struct osrt_pass *r, struct walk *walk, const struct event_batch *b)
{
	enum { IMPORTED_OSRT = 2 }; /* value of CODEXL_CALL.api */
	const bool imported = b->kind == KIND_CODEXL_CALL;
	const int64_t *duration = column(r->t, b, 0,
		imported ? (uint32_t)FIELD_CODEXL_CALL_DURATION : FIELD_OSRT_CALL_DURATION);
	const int64_t *function = duration ? column(r->t, b, 1,
						     imported ? (uint32_t)FIELD_CODEXL_CALL_FUNCTION
							      : FIELD_OSRT_CALL_FUNCTION)
					   : NULL;
	const int64_t *last = function
		? column(r->t, b, 2,
			  imported ? (uint32_t)FIELD_CODEXL_CALL_API : FIELD_OSRT_CALL_FLAGS)
		: NULL;
	if (!last)
		return batch_bad(r, walk, ROWS_DIFFER);
	for (uint32_t i = 0; i < b->count; i++) {
		if (!is_wanted(r, (uint32_t)function[i]) || (imported && last[i] != IMPORTED_OSRT))
			continue;
		struct osrt_function *f = function_of(r, (uint32_t)function[i]);
		if (!f)
			return batch_bad(r, walk, "too many functions");
		if (take_call(r, f, duration[i], imported ? 0 : last[i]))
			return -ENOMEM;
	}
	return 0;
}

static int visit_batch(void *user, struct walk *walk, const struct event_batch *b)
{
	struct osrt_pass *r = user;
	const struct cursor_filter *filter = &r->t->filter;
	const struct process *p = filter->pid ? process_find(&r->c->processes, b->process) : NULL;
	if ((filter->tid && filter->tid != b->tid) ||
		(filter->pid && (!p || p->facts->pid != filter->pid)))
		return 0;
	if (b->kind == KIND_OSRT_CALL || b->kind == KIND_CODEXL_CALL)
		return take_calls(r, walk, b);
	if (b->kind == KIND_OSRT_SUMMARY && !r->again)
		return take_summary(r, walk, b);
	return 0;
}

static int visit_block(void *user, const struct report_block *block)
{
	return contents_visit_block(((struct osrt_pass *)user)->visitor, block);
}

static void visit_problem(void *user, uint64_t offset, const char *cause)
{
	contents_report_problem(((struct osrt_pass *)user)->visitor, offset, cause);
}

static struct durations *durations_at(void *user, uint32_t index)
{
	return &((struct osrt_totals *)user)->functions[index]->calls;
}

static int compare_totals(const void *a, const void *b)
{
	const struct osrt_function *x = *(struct osrt_function *const *)a,
				   *y = *(struct osrt_function *const *)b;
	if (x->calls.total != y->calls.total)
		return x->calls.total < y->calls.total ? 1 : -1;
	return strcmp(x->name, y->name);
}

int osrt_totals_read(struct osrt_totals *t, struct contents *c, const struct report *r,
	const struct contents_visitor *visitor)
{
	struct osrt_pass pass = {.t = t, .c = c, .visitor = visitor};
	t->names.pattern = t->filter.name;
	const struct contents_visitor first = {&pass, visit_block, visit_batch, visit_problem};
	int error = contents_read(c, r, &first);
	const struct contents_visitor again = {&pass, visit_block, visit_batch, NULL};
	const struct medians medians = {t, t->count, durations_at};
	pass.again = true;
	if (!error)
		error = medians_find(&medians, r, &again, &t->passes);
	if (!error && t->count)
		qsort(t->functions, t->count, sizeof(*t->functions), compare_totals);
	return error;
}
