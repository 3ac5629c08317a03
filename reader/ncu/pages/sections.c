/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sections.c - `trace details --page details`: the sections that a result was collected with.
 *
 * Prints their header metrics, the tables of their bodies, and the messages of rules.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/ncu/pages/details.h"
#include "reader/ncu/pages/nvtx.h"

/* Remove repeated metrics. A metric may occur twice in a section; equal ones are adjacent. */
static void drop_repeated(struct ncu_shown_list *list)
{
	size_t kept = 0;
	for (size_t i = 0; i < list->count; i++)
		if (!i || details_by_name(&list->metrics[kept - 1], &list->metrics[i]) != 0)
			list->metrics[kept++] = list->metrics[i];
	list->count = kept;
}

/* Collect the header's metrics; with --print-details all, also the other metrics of the section. */
static int header_metrics(const struct details_section *s, const Ncu__ProfilerSection *of,
	struct ncu_shown_list *list)
{
	const struct ncu_target *t = &s->target;
	int error =
		of->header ? ncu_shown_add(list, t, of->header->metrics, of->header->n_metrics) : 0;
	const bool all = s->d->part == PART_ALL;
	for (size_t i = 0; all && !error && i < of->n_metrics; i++)
		error = ncu_shown_add(list, t, of->metrics[i]->metrics, of->metrics[i]->n_metrics);
	for (size_t i = 0; all && !error && i < of->n_source_metrics; i++)
		error = ncu_shown_add(
			list, t, of->source_metrics[i]->metrics, of->source_metrics[i]->n_metrics);
	details_sort(list);
	drop_repeated(list);
	return error;
}

static int header_print(struct details_section *s, const Ncu__ProfilerSection *of)
{
	struct ncu_shown_list list = {0};
	const struct details_item item = {.s = s};
	int error = header_metrics(s, of, &list);
	if (!error && list.count && s->take) {
		error = s->take(s->user, &item, &list);
	} else if (!error && list.count) {
		details_section_title(s, NULL);
		error = details_table(s, NULL, &list);
	}
	ncu_shown_release(&list);
	return error;
}

static struct details_section section_of(struct details *d, size_t id, const Ncu__ProfileResult *r)
{
	return (struct details_section){
		.d = d, .id = id, .result = r, .target = ncu_target_of(&d->results, r)};
}

static int section_metrics(struct details_section *s, const Ncu__ProfilerSection *of)
{
	s->of = of;
	s->name = of->display_name ? of->display_name : "";
	s->identifier = of->identifier ? of->identifier : "";
	s->is_titled = false;
	s->body_titled = NULL;
	s->items = 0;
	s->target.section_filter = of->filter;
	int error = s->d->part != PART_BODY ? header_print(s, of) : 0;
	if (!error && s->d->part != PART_HEADER)
		error = details_bodies(s, of);
	return error;
}

int details_take_sections(
	struct details *d, size_t id, const Ncu__ProfileResult *r, details_take *take, void *user)
{
	struct details_section s = section_of(d, id, r);
	int error = 0;
	s.take = take;
	s.user = user;
	for (size_t i = 0; !error && i < r->n_sections; i++)
		error = section_metrics(&s, r->sections[i]);
	return error;
}

static int by_order(const void *a, const void *b)
{
	const Ncu__ProfilerSection *left = *(Ncu__ProfilerSection *const *)a,
				   *right = *(Ncu__ProfilerSection *const *)b;
	if (left->order != right->order)
		return left->order < right->order ? -1 : 1;
	return strcmp(left->display_name ? left->display_name : "",
		right->display_name ? right->display_name : "");
}

static int print_result(struct details *d, size_t id, const Ncu__ProfileResult *r, void *user)
{
	struct details_section s = section_of(d, id, r);
	int error = 0;
	(void)user;
	if (!d->csv)
		details_text_launch(d, id, r);
	if (r->n_sections)
		qsort(r->sections, r->n_sections, sizeof(*r->sections), by_order);
	for (size_t i = 0; !error && i < r->n_sections; i++) {
		error = section_metrics(&s, r->sections[i]);
		if (!error)
			error = details_rules(&s);
	}
	if (error)
		return error;
	s.identifier = s.name = ""; /* rules that belong to no section come last, without a title */
	s.is_titled = true;
	return details_rules(&s);
}

static int survey(struct details *d, size_t id, const Ncu__ProfileResult *r, void *user)
{
	(void)id;
	(void)user;
	d->has_nvtx |= nvtx_has_ranges(r);
	d->has_rules |= r->n_rule_results > 0;
	d->has_speedups |= r->n_rule_results > 0;
	return 0;
}

static void print_csv_heading(struct details *d)
{
	static const char *const metric[] = {"Metric Name", "Metric Unit", "Metric Value"};
	static const char *const rule[] = {"Rule Name", "Rule Type", "Rule Description",
		"Estimated Speedup Type", "Estimated Speedup"};
	details_csv_heading(d);
	csv_cell(d->out, false, "Section Name");
	if (d->part != PART_HEADER)
		csv_cell(d->out, false, "Body Item Label");
	for (size_t i = 0; i < sizeof(metric) / sizeof(*metric); i++)
		csv_cell(d->out, false, metric[i]);
	for (size_t i = 0; d->has_rules && i < sizeof(rule) / sizeof(*rule); i++)
		csv_cell(d->out, false, rule[i]);
	fputc('\n', d->out);
}

int details_sections(struct details *d)
{
	int error = d->csv ? details_each(d, survey, NULL) : 0;
	if (!error && d->csv)
		print_csv_heading(d);
	return error ? error : details_each(d, print_result, NULL);
}
