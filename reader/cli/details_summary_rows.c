/*
 * details_summary_rows.c - the rows of a group of launches: a metric's numbers, added up, and those
 * of its instances where they are asked for.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/cli/details_summary.h"

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

/* Launches of a kernel mostly have the same metrics in the same order. */
static struct summary_row *row_find(
	struct summary_group *g, const char *section, size_t place, const char *name)
{
	for (size_t i = 0; i < g->count; i++) {
		size_t at = g->next + i < g->count ? g->next + i : g->next + i - g->count;
		const struct summary_row *row = &g->rows[at];
		if (row->place == place && !strcmp(row->name, name) &&
			!strcmp(row->section, section)) {
			g->next = at + 1;
			return &g->rows[at];
		}
	}
	return NULL;
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
	return row->section && row->name ? row : NULL;
}

/* ---- instances ---- */

static int by_key(const void *a, const void *b)
{
	const struct summary_instance *x = a, *y = b;
	int order = strcmp(x->key, y->key);
	return order ? order : (x->repeat > y->repeat) - (x->repeat < y->repeat);
}

/* NULL: no memory. */
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

/* What is not a number counts as 0, as it does for ncu. */
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

/* Which label a metric has in all tables of a section: the header's, else that of the first table,
 * else that of what is in no table. */
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

static void labels_agree(struct summary_group *g, struct summary_row *row)
{
	for (size_t i = 0; i < g->count; i++) {
		struct summary_row *other = &g->rows[i];
		if (other == row || other->name != row->name || other->section != row->section)
			continue;
		const struct summary_row *from = other->label_rank <= row->label_rank ? other : row;
		struct summary_row *to = from == row ? other : row;
		to->label = from->label;
		to->label_rank = from->label_rank;
	}
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
		labels_agree(g, row);
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
	struct summary_row *row = row_find(g, section, at->place, shown->name);
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

/* Of launches that differ in it, the first. */
int summary_attribute_add(struct summary *s, struct summary_group *g, const struct ncu_shown *shown)
{
	if (row_find(g, "", 0, shown->name))
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
	return row_find(g, section, 0, "") || row_keep(s, g, section, 0, "") ? 0 : -ENOMEM;
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
}
