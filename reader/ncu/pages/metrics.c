/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.c - a table of metrics in a section of `trace details`, as text or CSV.
 */
#include <stdlib.h>
#include <string.h>

#include "reader/ncu/pages/details.h"

#define BODY_COLUMNS 30u /* width of a value in the body of a section on a terminal */

void details_section_title(struct details_section *s, const char *body)
{
	if (s->d->csv)
		return;
	if (!s->is_titled)
		fprintf(s->d->out, "    Section: %s\n", s->name);
	s->is_titled = true;
	if (body && *body && s->body_titled != body)
		fprintf(s->d->out, "    %s\n", body);
	s->body_titled = body ? body : s->body_titled;
}

static void metric_csv(
	const struct details_section *s, const char *item, const struct details_metric *m)
{
	struct details *d = s->d;
	details_csv_launch(d, s->id, s->result);
	csv_cell(d->out, false, s->name);
	if (d->part != PART_HEADER)
		csv_cell(d->out, false, item ? item : "");
	csv_cell(d->out, false, m->label);
	csv_cell(d->out, false, m->unit);
	csv_cell(d->out, false, m->value);
	fputs(d->has_rules ? ",\n" : "\n", d->out);
}

static int metric_row(struct details_rows *rows, const struct details_metric *m)
{
	int error = details_rows_add(rows, m->label);
	if (!error)
		error = details_rows_add(rows, m->unit);
	return error ? error : details_rows_add(rows, m->value);
}

int details_table(struct details_section *s, const char *item, const struct ncu_shown_list *list)
{
	static const char *const titles[] = {"Metric Name", "Metric Unit", "Metric Value"};
	struct details_rows rows = {
		.titles = titles, .columns = 3, .left = 1, .lines = LINES_ROUND_ALL};
	int error = 0;
	for (size_t i = 0; !error && i < list->count; i++) {
		struct details_metric m;
		const bool instances = list->metrics[i].as->show_instances;
		error = details_metric_fill(s->d, &list->metrics[i],
			instances && s->d->instances == INSTANCES_NONE ? INSTANCES_VALUES
								       : s->d->instances,
			&m);
		if (error)
			break;
		if (s->d->csv)
			metric_csv(s, item, &m);
		else
			error = metric_row(&rows, &m);
		details_metric_release(&m);
	}
	if (!error && rows.count) {
		details_rows_print(&rows, s->d->out, 4, BODY_COLUMNS, true);
		fputc('\n', s->d->out);
	}
	details_rows_release(&rows);
	return error;
}

/* Return the sort key: members of a group sort by the group's name. */
static const char *sort_name(const struct ncu_shown *s)
{
	return s->as->name && !strncmp(s->as->name, "group:", 6) ? s->as->name : s->name;
}

int details_by_name(const void *a, const void *b)
{
	const struct ncu_shown *left = a, *right = b;
	int order = strcmp(sort_name(left), sort_name(right));
	return order ? order : strcmp(left->name, right->name);
}

void details_sort(struct ncu_shown_list *list)
{
	if (list->count)
		qsort(list->metrics, list->count, sizeof(*list->metrics), details_by_name);
}
