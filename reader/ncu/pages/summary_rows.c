/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary_rows.c - the rows of a group of launches: sums of metrics and, if asked for, of their
 * instances.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/ncu/pages/summary.h"

static const char *text_keep(struct summary *s, const char *text)
{
	return pool_text(&s->pool, text, strlen(text));
}

static struct summary_row *row_new(struct summary_group *g)
{
	if (array_room(&g->rows, g->count, &g->capacity, sizeof(*g->rows)))
		return NULL;
	struct summary_row *row = &g->rows[g->count++];
	*row = (struct summary_row){0};
	return row;
}

/* Return the number of a section's table; 0 = no memory. */
static uint32_t table_number(struct summary *s, const char *section, size_t place)
{
	uint32_t number = map_get(&s->tables, (uintptr_t)section, place);
	if (!number && !map_put(&s->tables, (uintptr_t)section, place, s->table_count + 1))
		number = ++s->table_count;
	return number;
}

static bool is_row(
	const struct summary_row *row, const char *section, size_t place, const char *name)
{
	return row->place == place && !strcmp(row->name, name) && !strcmp(row->section, section);
}

/* Find a row. Launches of a kernel mostly have the same metrics in the same order, so the next row
 * is tried first. */
static struct summary_row *row_find(struct summary *s, struct summary_group *g, const char *section,
	size_t place, const char *name)
{
	if (g->next < g->count && is_row(&g->rows[g->next], section, place, name))
		return &g->rows[g->next++];
	section = text_keep(s, section);
	name = text_keep(s, name);
	const uint32_t table = section && name ? table_number(s, section, place) : 0;
	const uint32_t at = table ? map_get(&g->by_table, (uintptr_t)name, table) : 0;
	if (!at)
		return NULL;
	g->next = at;
	return &g->rows[at - 1];
}

static struct summary_row *row_keep(struct summary *s, struct summary_group *g, const char *section,
	size_t place, const char *name)
{
	struct summary_row *row = row_new(g);
	if (!row)
		return NULL;
	row->section = text_keep(s, section);
	row->place = place;
	row->name = text_keep(s, name);
	if (!row->section || !row->name)
		return NULL;
	const uint32_t table = table_number(s, row->section, place);
	if (!table || map_put(&g->by_table, (uintptr_t)row->name, table, (uint32_t)g->count))
		return NULL;
	return row;
}

/* ---- instances ---- */

static int by_key(const void *a, const void *b)
{
	const struct summary_instance *x = a, *y = b;
	int order = strcmp(x->key, y->key);
	return order ? order : (x->repeat > y->repeat) - (x->repeat < y->repeat);
}

/* Find or create an instance of a row. NULL = no memory. */
static struct summary_instance *instance_of(
	struct summary *s, struct summary_row *row, const char *key, size_t repeat)
{
	const struct summary_instance wanted = {.key = key, .repeat = repeat};
	struct summary_instance *const *found = tfind(&wanted, &row->keys, by_key);
	if (found)
		return *found;
	struct summary_instance *new = pool_room(&s->pool, sizeof(*new));
	if (!new)
		return NULL;
	*new = wanted;
	new->key = text_keep(s, key);
	if (!new->key || !tsearch(new, &row->keys, by_key))
		return NULL;
	*(row->last ? &row->last->next : &row->first) = new;
	row->last = new;
	return new;
}

/* Add the value of an instance. A value that is not a number counts as 0, as in ncu. */
static int instance_add(
	struct summary *s, struct summary_row *row, const Ncu__ProfileMetricResult *m, size_t i)
{
	char *key = NULL;
	size_t bytes;
	double number = 0;
	const Ncu__ProfileMetricValue *v = m->metric_value_list[i]->element_value;
	FILE *out = open_memstream(&key, &bytes);
	if (!out)
		return -ENOMEM;
	details_key_print(s->d, m, i, out);
	if (fclose(out)) {
		free(key);
		return -ENOMEM;
	}
	struct summary_instance *head = instance_of(s, row, key, 0), *of = head;
	if (head && head->launch != row->count) {
		head->launch = row->count;
		head->used = 0;
	}
	if (head && head->used)
		of = instance_of(s, row, key, head->used);
	free(key);
	if (!of)
		return -ENOMEM;
	head->used++;
	of->count++;
	of->sum += v && ncu_value_number(v, &number) ? number : 0;
	return 0;
}

/* ---- rows ---- */

/* The source of a metric's label, which all tables of a section share: the header, else the first
 * table, else a metric outside of tables. */
enum { RANK_HEADER, RANK_TABLE, RANK_NONE };

static unsigned label_rank(const struct details_item *at, const struct ncu_shown *shown)
{
	const Ncu__ProfilerSection *of = at->s ? at->s->of : NULL;
	if (at->place)
		return RANK_TABLE;
	for (size_t i = 0; of && of->header && i < of->header->n_metrics; i++)
		if (of->header->metrics[i] == shown->as)
			return RANK_HEADER;
	return RANK_NONE;
}

/* Set the best label found so far in all rows of a metric in the tables of one section. `same`
 * chains these rows. */
static int labels_agree(struct summary_group *g, struct summary_row *row)
{
	const uintptr_t name = (uintptr_t)row->name, section = (uintptr_t)row->section;
	row->same = map_get(&g->by_section, name, section);
	if (map_put(&g->by_section, name, section, (uint32_t)g->count))
		return -ENOMEM;
	const struct summary_row *before = row->same ? &g->rows[row->same - 1] : row;
	if (before->label_rank <= row->label_rank) {
		row->label = before->label;
		row->label_rank = before->label_rank;
		return 0;
	}
	for (uint32_t i = row->same; i; i = g->rows[i - 1].same) {
		g->rows[i - 1].label = row->label;
		g->rows[i - 1].label_rank = row->label_rank;
	}
	return 0;
}

static struct summary_row *metric_row(struct summary *s, struct summary_group *g,
	const struct details_item *at, const char *section, const struct ncu_shown *shown)
{
	struct summary_row *row = row_keep(s, g, section, at->place, shown->name);
	const char *texts[] = {
		at->body, at->label, at->description, shown->as->unit ? shown->as->unit : ""};
	char *label = details_label(s->d, shown);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		texts[i] = text_keep(s, texts[i] ? texts[i] : "");
	if (row && label) {
		row->body = texts[0];
		row->table = texts[1];
		row->description = texts[2];
		row->unit = texts[3];
		row->label = text_keep(s, label);
		row->label_rank = label_rank(at, shown);
		if (labels_agree(g, row))
			row->label = NULL;
	}
	free(label);
	return row && row->body && row->table && row->description && row->unit && row->label ? row
											     : NULL;
}

int summary_row_add(struct summary *s, struct summary_group *g, const struct details_item *at,
	const struct ncu_shown *shown)
{
	double number;
	const Ncu__ProfileMetricResult *m = shown->metric;
	const Ncu__ProfileMetricValue *v = m ? m->metric_value : NULL;
	const char *section = at->s ? at->s->name : "";
	int error = 0;
	if (!v || !ncu_value_number(v, &number))
		return 0;
	struct summary_row *row = row_find(s, g, section, at->place, shown->name);
	if (!row) {
		row = metric_row(s, g, at, section, shown);
		if (!row)
			return -ENOMEM;
		row->least = row->most = number;
	}
	row->least = number < row->least ? number : row->least;
	row->most = number > row->most ? number : row->most;
	row->sum += number;
	row->count++;
	if (s->is_raw || s->by_state || s->d->instances == INSTANCES_NONE)
		return 0;
	for (size_t i = 0; !error && i < m->n_metric_value_list; i++)
		error = instance_add(s, row, m, i);
	return error;
}

int summary_attribute_add(struct summary *s, struct summary_group *g, const struct ncu_shown *shown)
{
	if (row_find(s, g, "", 0, shown->name))
		return 0;
	struct summary_row *row = row_keep(s, g, "", 0, shown->name);
	char *text = row ? details_value_text(s->d, shown->metric, 1, false, INSTANCES_NONE) : NULL;
	if (text) {
		row->label = row->name;
		row->attribute = text_keep(s, text);
	}
	free(text);
	return row && row->attribute ? 0 : -ENOMEM;
}

int summary_section_add(struct summary *s, struct summary_group *g, const char *section)
{
	return row_find(s, g, section, 0, "") || row_keep(s, g, section, 0, "") ? 0 : -ENOMEM;
}

static int by_table(const void *a, const void *b)
{
	const struct summary_row *x = a, *y = b;
	int order = strcmp(x->section, y->section);
	order = order ? order : (x->place > y->place) - (x->place < y->place);
	order = order ? order : !x->attribute - !y->attribute;
	return order ? order : strcmp(x->name, y->name);
}

void summary_rows_sort(struct summary_group *g)
{
	if (g->count)
		qsort(g->rows, g->count, sizeof(*g->rows), by_table);
}

static void nothing(void *instance)
{
	(void)instance;
}

void summary_rows_release(struct summary_group *g)
{
	for (size_t i = 0; i < g->count; i++)
		tdestroy(g->rows[i].keys, nothing);
	free(g->rows);
	map_release(&g->by_table);
	map_release(&g->by_section);
}
