/* SPDX-License-Identifier: Apache-2.0 */
/*
 * body.c - prints the tables and charts in the bodies of a section as tables of metrics.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader/ncu/pages/details.h"

static int item_table(const struct details_item *item, const struct ncu_shown_list *list)
{
	if (!list->count)
		return 0;
	if (item->s->take)
		return item->s->take(item->s->user, item, list);
	details_section_title(item->s, item->body);
	if (!item->s->d->csv) {
		FILE *out = item->s->d->out;
		if (item->label && *item->label)
			fprintf(out, "    Table Name : %s\n", item->label);
		if (item->description && *item->description)
			fprintf(out, "    Table Description : %s\n", item->description);
	}
	return details_table(item->s, item->label ? item->label : "", list);
}

/* ---- metrics in the order of the item ---- */

struct order {
	bool by_value, descending;
};

/* Return the value in hundredths, rounded as it is printed, so that values that print the same are
 * sorted by name. */
static double sort_value(const struct ncu_shown *s)
{
	double number = 0;
	const Ncu__ProfileMetricValue *v = s->metric ? s->metric->metric_value : NULL;
	return v && ncu_value_number(v, &number) ? round(number * 100) : -HUGE_VAL;
}

static int by_value(const void *a, const void *b)
{
	const struct ncu_shown *left = a, *right = b;
	double x = sort_value(left), y = sort_value(right);
	return x != y ? (x < y ? -1 : 1) : strcmp(left->name, right->name);
}

static int by_value_descending(const void *a, const void *b)
{
	const struct ncu_shown *left = a, *right = b;
	double x = sort_value(left), y = sort_value(right);
	return x != y ? (x > y ? -1 : 1) : strcmp(left->name, right->name);
}

static int metrics_print(const struct details_item *item,
	Ncu__ProfilerSectionMetric *const *metrics, size_t count, struct order order)
{
	struct ncu_shown_list list = {0};
	int error = ncu_shown_add(&list, &item->s->target, metrics, count);
	if (order.by_value && list.count)
		qsort(list.metrics, list.count, sizeof(*list.metrics),
			order.descending ? by_value_descending : by_value);
	else
		details_sort(&list);
	if (!error)
		error = item_table(item, &list);
	ncu_shown_release(&list);
	return error;
}

static int line_chart(const struct details_item *item, const Ncu__ProfilerSectionLineChart *c)
{
	struct ncu_shown_list list = {0};
	int error = ncu_shown_add(&list, &item->s->target, c->metrics, c->n_metrics);
	if (!error && c->highlight_x)
		error = ncu_shown_add(&list, &item->s->target, c->highlight_x->metrics,
			c->highlight_x->n_metrics);
	details_sort(&list);
	if (!error)
		error = item_table(item, &list);
	ncu_shown_release(&list);
	return error;
}

/* ---- suffixes: each base name is combined with each suffix ---- */

static const char *name_joined(const struct ncu_results *n, const char *base, const char *suffix)
{
	const size_t bytes = strlen(base);
	for (size_t i = 0; i < n->name_count; i++)
		if (!strncmp(n->names[i], base, bytes) && !strcmp(n->names[i] + bytes, suffix))
			return n->names[i];
	return NULL;
}

static int suffixed_add(struct ncu_shown_list *list, const struct ncu_target *t,
	const struct ncu_shown *base, const char *suffix)
{
	const char *name = name_joined(t->results, base->name, suffix);
	const Ncu__ProfilerSectionMetric *as = base->as;
	Ncu__ProfilerSectionMetric one = *as, *metrics[] = {&one};
	if (!name)
		return 0;
	one.name = (char *)name;
	one.n_options = 0;
	const size_t before = list->count;
	int error = ncu_shown_add(list, t, metrics, 1);
	if (list->count > before)
		list->metrics[before].as = as;
	return error;
}

static int suffix_table(const struct details_item *item, const Ncu__ProfilerSuffixTable *table)
{
	const struct ncu_target *t = &item->s->target;
	struct ncu_shown_list bases = {0}, list = {0};
	const size_t suffixes = table->suffixes ? table->suffixes->n_suffix : 0;
	int error = table->base_names ? ncu_shown_add(&bases, t, table->base_names->base_name,
						table->base_names->n_base_name)
				      : 0;
	for (size_t i = 0; !error && i < bases.count * suffixes; i++) {
		const char *suffix = table->suffixes->suffix[i % suffixes]->name;
		error = suffixed_add(&list, t, &bases.metrics[i / suffixes], suffix ? suffix : "");
	}
	details_sort(&list);
	if (!error)
		error = item_table(item, &list);
	ncu_shown_release(&bases);
	ncu_shown_release(&list);
	return error;
}

/* ---- rooflines: work and traffic. Each is one metric, or an expression of several metrics: values
 * per cycle, and cycles per second ---- */

static int roofline_value(struct details_section *s, const char *label, const char *title,
	const Ncu__ProfilerSectionRooflineValue *v)
{
	struct ncu_shown_list list = {0};
	const Ncu__ProfilerSectionRooflineValueCyclesPerSecondExpression *e =
		v ? v->value_cycles_per_second_expression : NULL;
	int error = v && v->metric ? ncu_shown_add(&list, &s->target, &v->metric, 1) : 0;
	if (!error && e)
		error = ncu_shown_add(&list, &s->target, e->value_per_cycle_metrics,
			e->n_value_per_cycle_metrics);
	if (!error && e && e->cycles_per_second_metric)
		error = ncu_shown_add(&list, &s->target, &e->cycles_per_second_metric, 1);
	details_sort(&list);
	if (!error && list.count && !s->d->csv)
		fprintf(s->d->out, "    %s\n", title);
	if (!error && list.count)
		error = details_table(s, label, &list);
	ncu_shown_release(&list);
	return error;
}

static int roofline_pair(struct details_section *s, const char *label, const char *const titles[2],
	const Ncu__ProfilerSectionRooflineValue *work,
	const Ncu__ProfilerSectionRooflineValue *traffic)
{
	label = label ? label : "";
	if (!s->d->csv)
		fprintf(s->d->out, "    %s\n", label);
	int error = roofline_value(s, label, titles[0], work);
	return error ? error : roofline_value(s, label, titles[1], traffic);
}

static int roofline_chart(
	const struct details_item *item, const Ncu__ProfilerSectionRooflineChart *c)
{
	static const char *const peak[] = {"Peak Work", "Peak Traffic"},
				 *const achieved[] = {"Achieved Work", "Achieved Traffic"};
	struct details_section *s = item->s;
	int error = 0;
	details_section_title(s, item->body);
	if (!s->d->csv)
		fprintf(s->d->out, "    Table Name : %s\n", item->label ? item->label : "");
	for (size_t i = 0; !error && i < c->n_rooflines; i++)
		error = roofline_pair(s,
			c->rooflines[i]->options ? c->rooflines[i]->options->label : NULL, peak,
			c->rooflines[i]->peak_work, c->rooflines[i]->peak_traffic);
	for (size_t i = 0; !error && i < c->n_achieved_values; i++)
		error = roofline_pair(s,
			c->achieved_values[i]->options ? c->achieved_values[i]->options->label
						       : NULL,
			achieved, c->achieved_values[i]->achieved_work,
			c->achieved_values[i]->achieved_traffic);
	return error;
}

/* ---- memory: the report does not list the metrics of these tables ---- */

/* Print a table of memory: the metrics of a group, whose names the result stores. */
static int memory_table(const struct details_item *item, const char *group)
{
	struct ncu_shown_list list = {0};
	Ncu__ProfilerSectionMetric of_group = NCU__PROFILER_SECTION_METRIC__INIT,
				   *metrics[] = {&of_group};
	of_group.name = (char *)(uintptr_t)group; /* it is not changed */
	int error = ncu_shown_add(&list, &item->s->target, metrics, 1);
	details_sort(&list);
	if (!error)
		error = item_table(item, &list);
	ncu_shown_release(&list);
	return error;
}

/* ---- items ---- */

#define CONTAINER_DEPTH_MAX 8 /* real files have depth 1 */

/* Print an item about GPU memory. */
static int memory_item(struct details_item *at, const Ncu__ProfilerSectionBodyItem *i)
{
	const struct {
		const void *item;
		const char *label, *group;
	} tables[] = {
#define TABLE(field, group) {i->field, i->field ? i->field->label : NULL, "group:memory__" group}
		TABLE(memory_chart, "chart"),
		TABLE(memory_shared_table, "shared_table"),
		TABLE(memory_l1tex_cache_table, "first_level_cache_table"),
		TABLE(memory_first_level_cache_table, "first_level_cache_table"),
		TABLE(memory_l2_cache_table, "l2_cache_table"),
		TABLE(memory_second_level_cache_table, "second_level_cache_table"),
		TABLE(memory_l2_cache_evict_policy_table, "l2_cache_evict_policy_table"),
		TABLE(memory_device_memory_table, "dram_table"),
#undef TABLE
	};
	for (size_t n = 0; n < sizeof(tables) / sizeof(*tables); n++)
		if (tables[n].item) {
			at->label = tables[n].label;
			return memory_table(at, tables[n].group);
		}
	return 0;
}

static struct order order_of(bool has_key, Ncu__SortKeys key, Ncu__SortDirections direction)
{
	return (struct order){has_key && key == NCU__SORT_KEYS__ByValue,
		direction == NCU__SORT_DIRECTIONS__Descending};
}

static int table_item(struct details_item *at, const Ncu__ProfilerSectionBodyItem *i)
{
	const struct order by_names = {false, false};
#define LABELLED(field) (at->label = i->field->label, at->description = i->field->description)
	if (i->table) {
		LABELLED(table);
		return metrics_print(at, i->table->metrics, i->table->n_metrics,
			order_of(i->table->has_sort_key, i->table->sort_key,
				i->table->sort_direction));
	}
	if (i->bar_chart) {
		LABELLED(bar_chart);
		return metrics_print(at, i->bar_chart->metrics, i->bar_chart->n_metrics,
			order_of(i->bar_chart->has_sort_key, i->bar_chart->sort_key,
				i->bar_chart->sort_direction));
	}
	if (i->histogram_chart && i->histogram_chart->metric) {
		LABELLED(histogram_chart);
		return metrics_print(at, &i->histogram_chart->metric, 1, by_names);
	}
	if (i->line_chart) {
		LABELLED(line_chart);
		return line_chart(at, i->line_chart);
	}
	if (i->roofline_chart) {
		LABELLED(roofline_chart);
		return roofline_chart(at, i->roofline_chart);
	}
	if (i->source_metric_table) {
		LABELLED(source_metric_table);
		return metrics_print(at, i->source_metric_table->metrics,
			i->source_metric_table->n_metrics, by_names);
	}
	if (i->suffix_table) {
		LABELLED(suffix_table);
		return suffix_table(at, i->suffix_table);
	}
#undef LABELLED
	return memory_item(at, i);
}

static bool is_nvlink(const Ncu__ProfilerSectionBodyItem *i)
{
	return i->nvlink_topology || i->nvlink_property_table || i->nvlink_throughput_table;
}

/* Return whether summaries include the item: not timelines, tables of devices and rooflines. */
static bool is_summed(const Ncu__ProfilerSectionBodyItem *i)
{
	return !i->timeline && !i->numa_id_table && !is_nvlink(i) && !i->roofline_chart;
}

static int item_print(struct details_section *s, const char *body,
	const Ncu__ProfilerSectionBodyItem *i, int depth)
{
	struct details_item at = {.s = s, .body = body, .place = ++s->items};
	int error = 0;
	if (depth > CONTAINER_DEPTH_MAX || !ncu_filter_matches(i->filter, &s->target))
		return 0;
	if (i->horizontal_container) {
		const Ncu__ProfilerSectionHorizontalContainer *c = i->horizontal_container;
		for (size_t n = 0; !error && n < c->n_items; n++)
			error = item_print(s, body, c->items[n], depth + 1);
		return error;
	}
	if (s->take && !is_summed(i))
		return 0;
	if (i->timeline) /* timelines are drawn, not printed */
		details_section_title(s, NULL);
	else if (i->numa_id_table)
		error = details_numa_table(&at);
	else if (is_nvlink(i))
		error = details_nvlink_table(&at);
	else
		error = table_item(&at, i);
	return error;
}

int details_bodies(struct details_section *s, const Ncu__ProfilerSection *of)
{
	const struct details_item begin = {.s = s};
	int error = s->take && of->n_body ? s->take(s->user, &begin, NULL) : 0;
	for (size_t b = 0; !error && b < of->n_body; b++)
		for (size_t i = 0; !error && i < of->body[b]->n_items; i++)
			error = item_print(s, of->body[b]->display_name, of->body[b]->items[i], 0);
	return error;
}
