/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_table.c - the metrics of a function by instruction, for the source page.
 */
#define _GNU_SOURCE
#include "reader/ncu/pages/source_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns ---- */

/* Return whether the instances are by address: their ids exceed those of any unit, opcode or
 * size. */
static bool is_by_address(const Ncu__ProfileMetricResult *m)
{
	const Ncu__ProfileMetricValue *id =
		m && m->n_metric_value_list ? m->metric_value_list[0]->correlation_id : NULL;
	return id && id->has_uint64_value && id->uint64_value > UINT32_MAX &&
		m->category != NCU__PROFILE_METRIC_CATEGORY__MetricCategorySampler;
}

static bool is_text(const Ncu__ProfileMetricResult *m)
{
	const Ncu__ProfileMetricValue *v = m->metric_value_list[0]->element_value;
	return v && v->string_value;
}

static bool is_mean(const Ncu__ProfilerSectionMetric *m)
{
	const Ncu__ProfilerSectionMetricDisplayProperties *p = m->display_properties;
	return p && p->source_correlation && p->source_correlation->divide_by_correlated_line_count;
}

static bool has_column(const struct source_columns *c, const char *label)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->list[i].label, label))
			return true;
	return false;
}

/* Metrics whose numbers encode words, as observed in the output of ncu 2024.1.1 for each number. */
static const struct {
	const char *metric;
	struct source_flag flags[8];
} flagged[] = {
	{"memory_type", {{4, "Global"}, {8, "Local"}, {16, "Shared"}, {32, "Texture"}, {0, NULL}}},
	{"memory_access_type", {{2, "Load"}, {4, "Store"}, {0, NULL}}},
	{"memory_access_size_type",
		{{2, "8"}, {4, "8"}, {8, "16"}, {16, "16"}, {32, "32"}, {64, "64"}, {0, NULL}}},
	{"smsp__sass_inst_executed_memdesc_explicit_evict_type", {{0, NULL}}},
};

static const struct source_flag *flags_of(const char *metric)
{
	for (size_t i = 0; i < sizeof(flagged) / sizeof(*flagged); i++)
		if (!strcmp(flagged[i].metric, metric))
			return flagged[i].flags;
	return NULL;
}

/* Add a column for the metrics in `shown` that have instances by address, if any. */
static int column_add(struct source_columns *c, const char *label,
	const Ncu__ProfilerSectionMetric *as, const struct ncu_shown *shown, size_t count)
{
	struct source_column *column = &c->list[c->count];
	if (!*label || c->count == SOURCE_COLUMNS_MAX || has_column(c, label))
		return 0;
	*column = (struct source_column){.label = label,
		.is_mean = is_mean(as),
		.flags = count == 1 ? flags_of(shown->name) : NULL};
	column->metrics = calloc(count + 1, sizeof(*column->metrics));
	if (!column->metrics)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (is_by_address(shown[i].metric)) {
			column->is_text |= is_text(shown[i].metric);
			column->metrics[column->metric_count++] = shown[i].metric;
		}
	if (column->metric_count)
		c->count++;
	else
		free(column->metrics);
	return 0;
}

/* Add the columns of a metric. A group is one column; other names for several metrics give several
 * columns. An empty label hides the column. */
static int metric_add(struct source_columns *c, const struct ncu_target *t,
	Ncu__ProfilerSectionMetric *const *metric)
{
	const char *name = (*metric)->name ? (*metric)->name : "";
	const char *label = (*metric)->label ? (*metric)->label : name;
	struct ncu_shown_list shown = {0};
	int error = ncu_shown_add(&shown, t, metric, 1);
	if (!error && !strncmp(name, "group:", 6))
		error = column_add(c, label, *metric, shown.metrics, shown.count);
	else
		for (size_t i = 0; !error && *label && i < shown.count; i++)
			error = column_add(
				c, shown.metrics[i].label, *metric, &shown.metrics[i], 1);
	ncu_shown_release(&shown);
	return error;
}

static int group_add(struct source_columns *c, const struct ncu_target *t,
	Ncu__ProfilerSectionMetric *const *metrics, size_t count)
{
	int error = 0;
	for (size_t i = 0; !error && i < count; i++)
		error = metric_add(c, t, &metrics[i]);
	return error;
}

/* Add the columns that a section has for the source page, group by group. */
static int section_add(
	struct source_columns *c, struct ncu_target *t, const Ncu__ProfilerSection *s)
{
	int error = 0;
	t->section_filter = s->filter;
	for (size_t i = 0; !error && i < s->n_source_metrics; i++)
		error = group_add(
			c, t, s->source_metrics[i]->metrics, s->source_metrics[i]->n_metrics);
	return error;
}

/* Add the columns of the other metrics of a section; those of its header only if it has no others
 * (the section of --metrics). */
static int section_add_others(
	struct source_columns *c, struct ncu_target *t, const Ncu__ProfilerSection *s)
{
	int error = 0;
	t->section_filter = s->filter;
	for (size_t i = 0; !error && i < s->n_metrics; i++)
		error = group_add(c, t, s->metrics[i]->metrics, s->metrics[i]->n_metrics);
	if (!error && s->header && !s->n_source_metrics && !s->n_metrics)
		error = group_add(c, t, s->header->metrics, s->header->n_metrics);
	return error;
}

int source_columns_make(
	struct source_columns *c, const struct ncu_results *n, const Ncu__ProfileResult *r)
{
	struct ncu_target target = ncu_target_of(n, r);
	int error = 0;
	c->count = 0;
	for (size_t i = 0; !error && i < r->n_sections; i++)
		error = section_add(c, &target, r->sections[i]);
	for (size_t i = 0; !error && i < r->n_sections; i++)
		error = section_add_others(c, &target, r->sections[i]);
	return error;
}

void source_columns_release(struct source_columns *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->list[i].metrics);
	c->count = 0;
}

/* ---- cells ---- */

/* Return the number of instructions: from the size of the code, else up to the last instance within
 * SOURCE_CELLS_MAX. */
static size_t rows_of(
	const struct source_columns *c, const struct module_function *f, uint32_t step)
{
	uint64_t bytes = f->bytes;
	const uint64_t most = (uint64_t)SOURCE_CELLS_MAX / (c->count ? c->count : 1) * step;
	for (size_t i = 0; !f->bytes && i < c->count; i++)
		for (size_t k = 0; k < c->list[i].metrics[0]->n_metric_value_list; k++) {
			const Ncu__ProfileMetricValue *id =
				c->list[i].metrics[0]->metric_value_list[k]->correlation_id;
			if (id && id->uint64_value >= f->address &&
				id->uint64_value - f->address < most &&
				id->uint64_value - f->address + step > bytes)
				bytes = id->uint64_value - f->address + step;
		}
	return (size_t)((bytes < most ? bytes : most) / step);
}

static void metric_spread(struct source_table *t, size_t column, const Ncu__ProfileMetricResult *m)
{
	for (size_t i = 0; i < m->n_metric_value_list; i++) {
		const Ncu__ProfileMetricListElement *e = m->metric_value_list[i];
		double number;
		if (!e->correlation_id || !e->element_value ||
			e->correlation_id->uint64_value < t->address)
			continue;
		const uint64_t row = (e->correlation_id->uint64_value - t->address) / t->step;
		if (row >= t->rows)
			continue;
		struct source_cell *cell = &t->cells[row * t->columns->count + column];
		cell->is_known = true;
		if (e->element_value->string_value)
			cell->text = e->element_value->string_value;
		else if (ncu_value_number(e->element_value, &number))
			cell->number += number;
		t->is_used = true;
	}
}

int source_table_fill(struct source_table *t, const struct source_columns *columns,
	const struct module_function *f, uint32_t step)
{
	*t = (struct source_table){.columns = columns,
		.address = f->address,
		.step = step,
		.rows = rows_of(columns, f, step)};
	t->cells = calloc(t->rows * columns->count + 1, sizeof(*t->cells));
	if (!t->cells)
		return -ENOMEM;
	for (size_t i = 0; i < columns->count; i++)
		for (size_t k = 0; k < columns->list[i].metric_count; k++)
			metric_spread(t, i, columns->list[i].metrics[k]);
	return 0;
}

void source_table_release(struct source_table *t)
{
	free(t->cells);
	*t = (struct source_table){0};
}

const struct source_cell *source_table_at(const struct source_table *t, size_t row, size_t column)
{
	return &t->cells[row * t->columns->count + column];
}
