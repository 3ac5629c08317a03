/* SPDX-License-Identifier: Apache-2.0 */
/* displayed_metrics.c - metrics that a section displays of a result. */
#define _GNU_SOURCE
#include "reader/ncu/displayed_metrics.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

static double number_of(const struct ncu_results *n, const Ncu__ProfileResult *r, const char *name)
{
	double number = 0;
	const Ncu__ProfileMetricResult *m = ncu_metric_find(n, r, name);
	return m && m->metric_value && ncu_value_number(m->metric_value, &number) ? number : 0;
}

struct ncu_target ncu_target_of(const struct ncu_results *n, const Ncu__ProfileResult *r)
{
	const double architecture =
		10 * number_of(n, r, "device__attribute_compute_capability_major") +
		number_of(n, r, "device__attribute_compute_capability_minor");
	return (struct ncu_target){.results = n,
		.result = r,
		.architecture =
			architecture > 0 && architecture < UINT32_MAX ? (uint32_t)architecture : 0,
		.scope = r->has_collection_scope ? r->collection_scope
						 : NCU__COLLECTION_SCOPE__CollectionScope_Launch};
}

static bool is_in(uint32_t arch, bool has_least, int least, bool has_most, int most)
{
	return (!has_least || arch >= (uint32_t)least) && (!has_most || arch <= (uint32_t)most);
}

static bool is_architecture(const Ncu__MetricOptionFilter *f, uint32_t arch)
{
	if (!is_in(arch, f->has_min_arch, (int)f->min_arch, f->has_max_arch, (int)f->max_arch))
		return false;
	for (size_t i = 0; i < f->n_items; i++)
		if (is_in(arch, f->items[i]->has_min_arch, (int)f->items[i]->min_arch,
			    f->items[i]->has_max_arch, (int)f->items[i]->max_arch))
			return true;
	return !f->n_items;
}

const Ncu__MetricOptionFilter *ncu_filter_of_architecture(
	const Ncu__MetricOptionFilter *metric, const struct ncu_target *around)
{
	const Ncu__MetricOptionFilter *filters[] = {
		metric, around->item_filter, around->section_filter};
	for (int i = 0; i < 3; i++) {
		const Ncu__MetricOptionFilter *f = filters[i];
		if (f && (f->has_min_arch || f->has_max_arch || f->n_items))
			return f;
	}
	return NULL;
}

const Ncu__MetricOptionFilter *ncu_filter_of_scope(
	const Ncu__MetricOptionFilter *metric, const struct ncu_target *around)
{
	const Ncu__MetricOptionFilter *filters[] = {
		metric, around->item_filter, around->section_filter};
	for (int i = 0; i < 3; i++) {
		const Ncu__MetricOptionFilter *f = filters[i];
		if (f && f->collection_filter && f->collection_filter->n_collection_scopes)
			return f;
	}
	return NULL;
}

/* A range of architectures includes both ends. One matching range is enough, and so is one
 * matching scope. */
bool ncu_filter_matches(const Ncu__MetricOptionFilter *metric, const struct ncu_target *t)
{
	const Ncu__MetricOptionFilter *f = ncu_filter_of_architecture(metric, t);
	if (f && !is_architecture(f, t->architecture))
		return false;
	f = ncu_filter_of_scope(metric, t);
	for (size_t i = 0; f && i < f->collection_filter->n_collection_scopes; i++)
		if (f->collection_filter->collection_scopes[i] == t->scope)
			return true;
	return !f;
}

static int list_add(struct ncu_shown_list *list, const struct ncu_shown *shown)
{
	if (array_room(&list->metrics, list->count, &list->capacity, sizeof(*list->metrics)))
		return -ENOMEM;
	list->metrics[list->count++] = *shown;
	return 0;
}

/* Append the metric of the result with this name. */
static int add_metric(struct ncu_shown_list *list, const struct ncu_target *t,
	const Ncu__ProfilerSectionMetric *as, const char *name)
{
	struct ncu_shown shown = {.name = name,
		.label = as->label && *as->label ? as->label : name,
		.as = as,
		.metric = ncu_metric_find(t->results, t->result, name)};
	return list_add(list, &shown);
}

/* Return the name as stored in the table of names, which outlives the list; NULL = no result has
 * it. */
static const char *name_in_table(const struct ncu_results *n, const char *name, size_t bytes)
{
	for (size_t i = 0; i < n->name_count; i++)
		if (!strncmp(n->names[i], name, bytes) && !n->names[i][bytes])
			return n->names[i];
	return NULL;
}

/* Append the metrics that a "breakdown:" or similar name stands for; the result stores their
 * names as a text, "a,b,c". */
static int add_stored(struct ncu_shown_list *list, const struct ncu_target *t,
	const Ncu__ProfilerSectionMetric *as, const char *names)
{
	int error = 0;
	while (!error && *names) {
		size_t bytes = strcspn(names, ",");
		const char *name = name_in_table(t->results, names, bytes);
		if (name)
			error = add_metric(list, t, as, name);
		names += bytes + (names[bytes] == ',');
	}
	return error;
}

static bool is_plain(const char *name)
{
	return strncmp(name, "regex:", 6) && strncmp(name, "breakdown:", 10) &&
		strncmp(name, "group:", 6);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct ncu_shown *)a)->name, ((const struct ncu_shown *)b)->name);
}

/* Append the metrics of the result whose names match somewhere, sorted by name. A report does not
 * list the metrics of sections that it was not collected with. */
static int add_fitting(struct ncu_shown_list *list, const struct ncu_target *t,
	const Ncu__ProfilerSectionMetric *as, const char *pattern)
{
	const size_t before = list->count;
	regex_t regex;
	int error = 0;
	if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB))
		return 0;
	for (size_t i = 0; !error && i < t->result->n_metric_results; i++) {
		const uint32_t id = t->result->metric_results[i]->name_id;
		const char *name = id < t->results->name_count ? t->results->names[id] : NULL;
		if (name && is_plain(name) && !regexec(&regex, name, 0, NULL, 0))
			error = add_metric(list, t, as, name);
	}
	regfree(&regex);
	if (list->count > before)
		qsort(list->metrics + before, list->count - before, sizeof(*list->metrics),
			by_name);
	return error;
}

const char *ncu_shown_name(const Ncu__ProfilerSectionMetric *m, const struct ncu_target *t,
	const Ncu__ProfilerSectionMetricOption **ret_option)
{
	const Ncu__ProfilerSectionMetricOption *option = NULL;
	for (size_t i = 0; !option && i < m->n_options; i++)
		if (ncu_filter_matches(m->options[i]->filter, t))
			option = m->options[i];
	*ret_option = option;
	if (!option && !ncu_filter_matches(m->filter, t))
		return NULL;
	const char *name = option && option->name ? option->name : m->name;
	return name && *name ? name : NULL;
}

static int add_one(struct ncu_shown_list *list, const struct ncu_target *t,
	const Ncu__ProfilerSectionMetric *m)
{
	const Ncu__ProfilerSectionMetricOption *option;
	const char *name = ncu_shown_name(m, t, &option);
	if (!name)
		return 0;
	if (!is_plain(name)) {
		const Ncu__ProfileMetricResult *stored =
			ncu_metric_find(t->results, t->result, name);
		if (stored && stored->metric_value && stored->metric_value->string_value)
			return add_stored(list, t, m, stored->metric_value->string_value);
		return strncmp(name, "regex:", 6) ? 0 : add_fitting(list, t, m, name + 6);
	}
	int error = add_metric(list, t, m, name);
	if (!error && option && option->label && *option->label)
		list->metrics[list->count - 1].label = option->label;
	return error;
}

int ncu_shown_add(struct ncu_shown_list *list, const struct ncu_target *t,
	Ncu__ProfilerSectionMetric *const *metrics, size_t count)
{
	int error = 0;
	for (size_t i = 0; !error && i < count; i++)
		error = add_one(list, t, metrics[i]);
	return error;
}

void ncu_shown_release(struct ncu_shown_list *list)
{
	free(list->metrics);
	*list = (struct ncu_shown_list){0};
}
