/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw.c - `trace details --page raw`: every metric of every result, by name.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader/ncu/pages/details.h"
#include "reader/ncu/pages/nvtx.h"

/* A metric of the report: a column of the CSV page. */
struct raw_column {
	const char *name; /* points into the table of names */
	char unit[NCU_UNIT_BYTES];
	double scale, greatest;                 /* greatest: of the finite values of all results */
	bool is_hidden;                         /* never printed */
	bool is_used;                           /* a result has it */
	const Ncu__ProfileMetricResult *metric; /* metric of the current result; NULL = none */
};

struct raw_page {
	struct raw_column *columns; /* sorted by name; unused columns are removed at the end */
	size_t count;
	uint32_t *column_of; /* index of the column of each NameId */
	size_t list_bytes;   /* length of the longest list of names in the current result */
	uint8_t *name_bits;  /* names to read: the wanted ones, and those that identify a result */
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct raw_column *)a)->name, ((const struct raw_column *)b)->name);
}

/* Return whether the metric is a list of names of other metrics, which sections use. */
static bool is_list(const char *name)
{
	return !strncmp(name, "breakdown:", 10) || !strncmp(name, "group:", 6) ||
		!strncmp(name, "regex:", 6);
}

static int page_init(struct raw_page *p, const struct details *d)
{
	const struct ncu_results *n = &d->results;
	p->columns = calloc(n->name_count + 1, sizeof(*p->columns));
	p->column_of = calloc(n->name_count + 1, sizeof(*p->column_of));
	if (!p->columns || !p->column_of)
		return -ENOMEM;
	for (size_t i = 0; i < n->name_count; i++)
		p->columns[i].name = n->names[i];
	qsort(p->columns, n->name_count, sizeof(*p->columns), by_name);
	for (size_t i = 0; i < n->name_count; i++)
		if (!p->count || strcmp(p->columns[p->count - 1].name, p->columns[i].name) != 0)
			p->columns[p->count++] = p->columns[i];
	for (size_t i = 0; i < p->count; i++)
		p->columns[i].is_hidden = is_list(p->columns[i].name) ||
			!details_choice_has(&d->choice, p->columns[i].name);
	for (size_t i = 0; i < n->name_count; i++) {
		const struct raw_column key = {.name = n->names[i]};
		const struct raw_column *found =
			bsearch(&key, p->columns, p->count, sizeof(key), by_name);
		p->column_of[i] = (uint32_t)(found - p->columns);
	}
	return 0;
}

static void page_release(struct raw_page *p, struct details *d)
{
	d->name_bits = NULL;
	free(p->columns);
	free(p->column_of);
	free(p->name_bits);
}

/* Return whether the line of a launch uses this metric. */
static bool is_of_launch(const char *name)
{
	return !strcmp(name, "device__attribute_device_index") ||
		!strncmp(name, "device__attribute_compute_capability_", 37);
}

/* Restrict reading to the metrics that --metrics names, unless a derived metric needs others. */
static int page_narrow(struct raw_page *p, struct details *d)
{
	const size_t names = d->results.name_count;
	if (!d->choice.names || d->choice.definitions.count)
		return 0;
	p->name_bits = calloc(names / 8 + 1, 1);
	if (!p->name_bits)
		return -ENOMEM;
	for (size_t i = 0; i < names; i++)
		if (!p->columns[p->column_of[i]].is_hidden || is_of_launch(d->results.names[i]))
			p->name_bits[i / 8] |= (uint8_t)(1u << i % 8);
	d->name_bits = p->name_bits;
	return 0;
}

static int page_begin(struct raw_page *p, struct details *d)
{
	const int error = page_init(p, d);
	return error ? error : page_narrow(p, d);
}

/* Store the metrics of a result in their columns; of metrics with the same name, the last. */
static void page_take(struct raw_page *p, const struct details *d, const Ncu__ProfileResult *r)
{
	for (size_t i = 0; i < p->count; i++)
		p->columns[i].metric = NULL;
	p->list_bytes = 0;
	for (size_t i = 0; i < r->n_metric_results; i++) {
		const Ncu__ProfileMetricResult *m = r->metric_results[i];
		if (m->name_id >= d->results.name_count)
			continue;
		struct raw_column *c = &p->columns[p->column_of[m->name_id]];
		const char *text = m->metric_value ? m->metric_value->string_value : NULL;
		if (c->is_hidden && text && strlen(text) > p->list_bytes && is_list(c->name))
			p->list_bytes = strlen(text);
		if (c->is_hidden)
			continue;
		c->metric = m;
		c->is_used = true;
	}
}

/* Choose the unit of the column to suit the current number. */
static void column_scale(struct raw_column *c, const struct details *d)
{
	ncu_unit(c->name, c->unit);
	c->scale = details_scale(d, c->metric, c->unit);
}

static void column_note(struct raw_column *c)
{
	const Ncu__ProfileMetricValue *v = c->metric ? c->metric->metric_value : NULL;
	double number;
	if (v && ncu_value_number(v, &number) && isfinite(number) && number > c->greatest)
		c->greatest = number;
}

static char *value_text(const struct raw_column *c, const struct details *d)
{
	const Ncu__ProfileMetricValue *v = c->metric ? c->metric->metric_value : NULL;
	const bool many_digits = d->csv && !d->base_units && *c->unit && v && !v->string_value;
	return details_value_text(d, c->metric, c->scale, many_digits, d->instances);
}

/* ---- as CSV: a row for each result, a column for each metric that any result has ---- */

#define VALUE_COLUMNS 20u /* width of values on a terminal */

static int survey(struct details *d, size_t id, const Ncu__ProfileResult *r, void *user)
{
	struct raw_page *p = user;
	(void)id;
	page_take(p, d, r);
	d->has_nvtx |= nvtx_has_ranges(r);
	for (size_t i = 0; i < p->count; i++)
		column_note(&p->columns[i]);
	return 0;
}

static int print_csv_row(struct details *d, size_t id, const Ncu__ProfileResult *r, void *user)
{
	struct raw_page *p = user;
	int error = 0;
	page_take(p, d, r);
	details_csv_launch(d, id, r);
	for (size_t i = 0; !error && i < p->count; i++) {
		char *text = p->columns[i].is_used ? value_text(&p->columns[i], d) : NULL;
		if (p->columns[i].is_used)
			csv_cell(d->out, false, text);
		error = p->columns[i].is_used && !text ? -ENOMEM : 0;
		free(text);
	}
	fputc('\n', d->out);
	return error;
}

static void print_csv_heading(struct details *d, const struct raw_page *p)
{
	const size_t launch_columns = 9 + (d->has_kernels ? 2 : 0) + (d->has_nvtx ? 2 : 0);
	details_csv_heading(d);
	for (size_t i = 0; i < p->count; i++)
		if (p->columns[i].is_used)
			csv_cell(d->out, false, p->columns[i].name);
	fputc('\n', d->out);
	for (size_t i = 0; i < launch_columns; i++)
		csv_cell(d->out, i == 0, "");
	for (size_t i = 0; i < p->count; i++)
		if (p->columns[i].is_used)
			csv_cell(d->out, false, p->columns[i].unit);
	fputc('\n', d->out);
}

static int print_csv(struct details *d, struct raw_page *p)
{
	int error = details_each(d, survey, p);
	for (size_t i = 0; i < p->count; i++) {
		struct raw_column *c = &p->columns[i];
		ncu_unit(c->name, c->unit);
		c->scale = d->base_units ? 1 : ncu_unit_scale(c->unit, c->greatest);
	}
	if (!error) {
		print_csv_heading(d, p);
		error = details_each(d, print_csv_row, p);
	}
	return error;
}

/* ---- as text: a table for each result ---- */

static int print_table(struct details *d, size_t id, const Ncu__ProfileResult *r, void *user)
{
	static const char *const titles[] = {"Metric Name", "Metric Unit", "Metric Value"};
	struct raw_page *p = user;
	struct details_rows rows = {.titles = titles, .columns = 3, .left = 1};
	int error = 0;
	page_take(p, d, r);
	for (size_t i = 0; !error && i < p->count; i++) {
		struct raw_column *c = &p->columns[i];
		if (!c->metric)
			continue;
		column_scale(c, d);
		char *text = value_text(c, d);
		error = text ? details_rows_add(&rows, c->name) : -ENOMEM;
		if (!error)
			error = details_rows_add(&rows, c->unit);
		if (!error)
			error = details_rows_add(&rows, text);
		free(text);
	}
	details_text_launch(d, id, r);
	rows.last_least = p->list_bytes; /* as in Nsight Compute, which hides them afterwards */
	if (!error)
		details_rows_print(&rows, d->out, 2, VALUE_COLUMNS, true);
	fputc('\n', d->out);
	details_rows_release(&rows);
	return error;
}

/* ---- for summaries ---- */

struct visiting {
	struct raw_page page;
	struct ncu_shown_list list; /* has room for all columns */
	details_metrics_visit *one;
	void *user;
};

static int metrics_visit(struct details *d, size_t id, const Ncu__ProfileResult *r, void *user)
{
	static const Ncu__ProfilerSectionMetric plain = NCU__PROFILER_SECTION_METRIC__INIT;
	struct visiting *v = user;
	page_take(&v->page, d, r);
	v->list.count = 0;
	for (size_t i = 0; i < v->page.count; i++) {
		const struct raw_column *c = &v->page.columns[i];
		if (c->metric)
			v->list.metrics[v->list.count++] =
				(struct ncu_shown){c->name, c->name, &plain, c->metric};
	}
	return v->one(d, id, r, &v->list, v->user);
}

int details_raw_metrics(struct details *d, details_metrics_visit *one, void *user)
{
	struct visiting v = {.one = one, .user = user};
	int error = page_begin(&v.page, d);
	if (!error)
		v.list.metrics = calloc(v.page.count + 1, sizeof(*v.list.metrics));
	if (!error && !v.list.metrics)
		error = -ENOMEM;
	if (!error)
		error = details_each(d, metrics_visit, &v);
	ncu_shown_release(&v.list);
	page_release(&v.page, d);
	return error;
}

int details_raw(struct details *d)
{
	struct raw_page p = {0};
	int error = page_begin(&p, d);
	if (!error)
		error = d->csv ? print_csv(d, &p) : details_each(d, print_table, &p);
	page_release(&p, d);
	return error;
}
