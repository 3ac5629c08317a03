/* SPDX-License-Identifier: Apache-2.0 */
/* derive.c - derived metrics: definitions, and the metrics they add to results. */
#define _GNU_SOURCE
#include "reader/ncu/derive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

/* ---- definitions ---- */

static bool is_name(const char *name)
{
	return *name &&
		strspn(name,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			"_.:") == strlen(name);
}

int ncu_definitions_add(struct ncu_definitions *d, const char *name, const char *expression,
	struct expression_problem *problem)
{
	struct ncu_definition new = {.name = NULL};
	problem->column = 0;
	if (!is_name(name)) {
		snprintf(problem->text, sizeof(problem->text), "invalid metric name '%.80s'", name);
		return -EINVAL;
	}
	if (d->count == DEFINITIONS_MAX)
		return -E2BIG;
	if (array_room(&d->list, d->count, &d->capacity, sizeof(*d->list)))
		return -ENOMEM;
	int error = expression_parse(&new.expression, expression, problem);
	if (!error && !(new.name = strdup(name)))
		error = -ENOMEM;
	if (error)
		expression_release(&new.expression);
	else
		d->list[d->count++] = new;
	return error;
}

int ncu_definitions_add_section(struct ncu_definitions *d, const Ncu__ProfilerSection *section,
	void (*problem)(void *user, const char *name, const struct expression_problem *p),
	void *user)
{
	const Ncu__ProfilerSectionMetricDefinitions *m = section->metric_definitions;
	int error = 0;
	for (size_t i = 0; m && !error && i < m->n_metric_definitions; i++) {
		const Ncu__ProfilerSectionMetricDefinition *one = m->metric_definitions[i];
		const char *name = one->name ? one->name : "";
		struct expression_problem p;
		error = ncu_definitions_add(d, name, one->expression ? one->expression : "", &p);
		if (!error) {
			d->list[d->count - 1].filter = one->filter;
			d->list[d->count - 1].section_filter = section->filter;
		}
		if (error == -EINVAL) {
			problem(user, name, &p);
			error = 0;
		}
	}
	return error;
}

void ncu_definitions_release(struct ncu_definitions *d)
{
	for (size_t i = 0; i < d->count; i++) {
		free(d->list[i].name);
		expression_release(&d->list[i].expression);
	}
	free(d->list);
	*d = (struct ncu_definitions){0};
}

int ncu_definitions_name(struct ncu_definitions *d, struct ncu_results *n)
{
	int error = 0;
	for (size_t i = 0; !error && i < d->count; i++)
		error = ncu_results_name(n, d->list[i].name, &d->list[i].name_id);
	return error;
}

/* ---- a quantity as a metric ---- */

static Ncu__ProfileMetricValue *value_of(const struct number *n)
{
	Ncu__ProfileMetricValue *v = malloc(sizeof(*v));
	if (!v)
		return NULL;
	ncu__profile_metric_value__init(v);
	if (n->kind == NUMBER_UINT32) {
		v->has_uint32_value = true;
		v->uint32_value = (uint32_t)n->whole;
	} else if (n->kind == NUMBER_UINT64) {
		v->has_uint64_value = true;
		v->uint64_value = n->whole;
	} else if (n->kind == NUMBER_FLOAT) {
		v->has_float_value = true;
		v->float_value = (float)n->real;
	} else {
		v->has_double_value = true;
		v->double_value = n->real;
	}
	return v;
}

static Ncu__ProfileMetricValue *value_copy(const Ncu__ProfileMetricValue *from)
{
	Ncu__ProfileMetricValue *v = malloc(sizeof(*v));
	if (!v)
		return NULL;
	*v = *from;
	v->base.n_unknown_fields = 0;
	v->base.unknown_fields = NULL;
	if (from->string_value && !(v->string_value = strdup(from->string_value))) {
		free(v);
		return NULL;
	}
	return v;
}

static int instances_add(Ncu__ProfileMetricResult *m, const struct quantity *q)
{
	m->metric_value_list = calloc(q->count, sizeof(*m->metric_value_list));
	if (!m->metric_value_list)
		return -ENOMEM;
	for (size_t i = 0; i < q->count; i++) {
		Ncu__ProfileMetricListElement *e = malloc(sizeof(*e));
		if (!e)
			return -ENOMEM;
		ncu__profile_metric_list_element__init(e);
		m->metric_value_list[m->n_metric_value_list++] = e;
		e->correlation_id = value_copy(q->instances[i].id);
		e->element_value = value_of(&q->instances[i].value);
		if (!e->correlation_id || !e->element_value)
			return -ENOMEM;
	}
	return 0;
}

static Ncu__ProfileMetricResult *metric_of(const struct quantity *q, uint32_t name_id)
{
	Ncu__ProfileMetricResult *m = malloc(sizeof(*m));
	if (!m)
		return NULL;
	ncu__profile_metric_result__init(m);
	m->has_name_id = true;
	m->name_id = name_id;
	m->has_category = true; /* writers since 2023.2 always set it */
	m->metric_value = value_of(&q->aggregate);
	if (m->metric_value && (!q->count || !instances_add(m, q)))
		return m;
	ncu__profile_metric_result__free_unpacked(m, NULL);
	return NULL;
}

static int result_add(Ncu__ProfileResult *r, const struct quantity *q, uint32_t name_id)
{
	void *all = reallocarray(
		r->metric_results, r->n_metric_results + 1, sizeof(*r->metric_results));
	if (!all)
		return -ENOMEM;
	r->metric_results = all;
	r->metric_results[r->n_metric_results] = metric_of(q, name_id);
	return r->metric_results[r->n_metric_results++] ? 0 : (r->n_metric_results--, -ENOMEM);
}

/* ---- deriving ---- */

static bool has_metric(const Ncu__ProfileResult *r, uint32_t name_id)
{
	for (size_t i = 0; i < r->n_metric_results; i++)
		if (r->metric_results[i]->name_id == name_id)
			return true;
	return false;
}

/* Add the metric of a definition. Returns 1 if it was added, 0 if it cannot be computed, or
 * -ENOMEM. */
static int derive_one(
	struct ncu_definition *one, const struct ncu_results *n, Ncu__ProfileResult *r)
{
	struct quantity q;
	const char *metric;
	int error = expression_compute(&one->expression, n, r, &q, &metric);
	if (error) {
		one->lacked = metric;
		return error == -ENOMEM ? error : 0;
	}
	error = result_add(r, &q, one->name_id);
	quantity_release(&q);
	one->added += !error;
	return error ? error : 1;
}

int ncu_derive(struct ncu_definitions *d, const struct ncu_results *n, Ncu__ProfileResult *r)
{
	struct ncu_target target = ncu_target_of(n, r);
	int added = 1;
	while (added > 0) { /* each pass adds at least one metric, or is the last */
		added = 0;
		for (size_t i = 0; added >= 0 && i < d->count; i++) {
			struct ncu_definition *one = &d->list[i];
			target.section_filter = one->section_filter;
			if (!ncu_filter_matches(one->filter, &target) ||
				has_metric(r, one->name_id))
				continue;
			int result = derive_one(one, n, r);
			added = result < 0 ? result : added + result;
		}
	}
	return added;
}
