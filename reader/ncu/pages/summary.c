/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary.c - `trace details --print-summary`: metrics summed over launches.
 *
 * Launches of one kernel and shape form a group; per-nvtx, those in the same ranges of a domain.
 * Each metric of the page has its least and greatest value and the arithmetic mean. This file
 * builds the groups and adds results to them; a result is freed after it is added.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "reader/ncu/pages/summary.h"

#include "reader/base/order.h"

/* ---- groups ---- */

static int by_kernel(const void *a, const void *b)
{
	const struct summary_group *x = a, *y = b;
	int order = nvtx_state_order(&x->state, &y->state);
	order = order ? order : compare_u64(x->process, y->process);
	order = order ? order : y->is_device - x->is_device;
	order = order ? order : strcmp(x->kernel, y->kernel);
	order = order ? order : strcmp(x->grid, y->grid);
	order = order ? order : strcmp(x->block, y->block);
	order = order ? order : compare_u64(x->device, y->device);
	return order ? order : strcmp(x->cc, y->cc);
}

/* Compare by device first, for the pages that have a heading for each device. */
static int by_device(const void *a, const void *b)
{
	const struct summary_group *x = *(struct summary_group *const *)a,
				   *y = *(struct summary_group *const *)b;
	int order = compare_u64(x->process, y->process);
	order = order ? order : compare_u64(x->device, y->device);
	order = order ? order : strcmp(x->cc, y->cc);
	return order ? order : by_kernel(x, y);
}

static const char *text_keep(struct summary *s, const char *text)
{
	return pool_text(&s->pool, text, strlen(text));
}

/* Copy the texts of a new group into the pool. */
static bool group_keep(struct summary *s, struct summary_group *g)
{
	const char **texts[] = {&g->kernel, &g->grid, &g->block, &g->cc, &g->state.domain,
		&g->state.order, &g->state.own, &g->state.cell, &g->state.lines};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const bool is_wanted = *texts[i] != NULL;
		*texts[i] = is_wanted ? text_keep(s, *texts[i]) : NULL;
		if (is_wanted && !*texts[i])
			return false;
	}
	return tsearch(g, &s->tree, by_kernel) != NULL;
}

/* Find or create the group with this key. NULL = no memory. */
static struct summary_group *group_like(struct summary *s, const struct summary_group *key)
{
	struct summary_group *const *found = tfind(key, &s->tree, by_kernel);
	struct summary_group *g = found ? *found : pool_room(&s->pool, sizeof(*g));
	if (!g || found)
		return g;
	*g = *key;
	if (!group_keep(s, g))
		return NULL;
	s->count++;
	return g;
}

/* The state of adding a result. */
struct adding {
	struct summary *summary;
	size_t id;
	const Ncu__ProfileResult *result;
	const struct nvtx_state_text *state; /* NULL = any ranges */
	const struct ncu_shown_list *raw;    /* metrics of the raw page, else NULL */
	struct summary_group *group;
};

/* Find the group of the result. Returns 0 or -ENOMEM. */
static int group_find(struct adding *a, bool is_device)
{
	char grid[DETAILS_DIM_BYTES], block[DETAILS_DIM_BYTES], cc[DETAILS_DIM_BYTES];
	const struct details *d = a->summary->d;
	char *name = details_kernel_name(d, a->result);
	if (!name)
		return -ENOMEM;
	details_dim_text(a->result->grid_size, grid);
	details_dim_text(a->result->block_size, block);
	details_cc_text(d, a->result, cc);
	const struct summary_group key = {
		.process = a->state ? 0 : d->results.entries[a->id].process,
		.state = a->state ? *a->state : (struct nvtx_state_text){0},
		.device = details_device(d, a->result),
		.is_device = is_device,
		.kernel = is_device ? "" : name,
		.grid = is_device ? "" : grid,
		.block = is_device ? "" : block,
		.cc = cc};
	a->group = group_like(a->summary, &key);
	free(name);
	return a->group ? 0 : -ENOMEM;
}

/* ---- results ---- */

static int section_add(
	void *user, const struct details_item *item, const struct ncu_shown_list *list)
{
	struct adding *a = user;
	int error = list ? 0 : summary_section_add(a->summary, a->group, item->s->name);
	for (size_t i = 0; list && !error && i < list->count; i++)
		error = summary_row_add(a->summary, a->group, item, &list->metrics[i]);
	return error;
}

static bool is_attribute(const struct ncu_shown *shown)
{
	return !strncmp(shown->name, "device__attribute_", 18);
}

/* Add the metrics of the raw page. Attributes belong to the device if it has a heading, else to
 * each kernel. */
static int raw_add(struct adding *a)
{
	struct summary *s = a->summary;
	struct summary_group *launches = a->group;
	const struct details_item page = {0};
	int error = s->by_device ? group_find(a, true) : 0;
	for (size_t i = 0; !error && i < a->raw->count; i++) {
		const struct ncu_shown *shown = &a->raw->metrics[i];
		error = is_attribute(shown) ? summary_attribute_add(s, a->group, shown)
					    : summary_row_add(s, launches, &page, shown);
	}
	return error;
}

static int group_add(struct adding *a)
{
	int error = group_find(a, false);
	if (error)
		return error;
	a->group->launches++;
	return a->raw ? raw_add(a)
		      : details_take_sections(a->summary->d, a->id, a->result, section_add, a);
}

static int state_add(void *user, const struct nvtx_state_text *state)
{
	struct adding *a = user;
	a->state = state;
	return group_add(a);
}

static int metrics_add(struct details *d, size_t id, const Ncu__ProfileResult *r,
	const struct ncu_shown_list *raw, void *user)
{
	struct summary *s = user;
	struct adding adding = {.summary = s, .id = id, .result = r, .raw = raw};
	if (!s->by_state)
		return group_add(&adding);
	int error = nvtx_states(r, state_add, &adding);
	if (error != -E2BIG)
		return error;
	cli_problem(&d->r, d->results.entries[id].offset, "too many different NVTX ranges");
	return 0;
}

static int result_add(struct details *d, size_t id, const Ncu__ProfileResult *r, void *user)
{
	return metrics_add(d, id, r, NULL, user);
}

static void collect(const void *node, VISIT visit, void *user)
{
	struct summary *s = user;
	if (visit == postorder || visit == leaf)
		s->groups[s->count++] = *(struct summary_group *const *)node;
}

static void nothing(void *group)
{
	(void)group;
}

int details_summary(struct details *d, bool is_raw)
{
	struct summary s = {.d = d,
		.by_device = d->summary == SUMMARY_GPU,
		.by_state = d->summary == SUMMARY_NVTX,
		.is_raw = is_raw};
	int error =
		is_raw ? details_raw_metrics(d, metrics_add, &s) : details_each(d, result_add, &s);
	s.groups = calloc(s.count + 1, sizeof(*s.groups));
	if (!s.groups)
		error = -ENOMEM;
	s.count = 0;
	if (s.groups)
		twalk_r(s.tree, collect, &s);
	if (!error && s.by_device)
		qsort(s.groups, s.count, sizeof(*s.groups), by_device);
	if (!error)
		error = summary_print(&s);
	if (!error && s.by_state && !s.count && d->filter.any)
		cli_note("'%s': no kernel was launched in an NVTX range", d->r.path);
	for (size_t i = 0; i < s.count; i++)
		summary_rows_release(s.groups[i]);
	tdestroy(s.tree, nothing);
	free(s.groups);
	map_release(&s.tables);
	pool_release(&s.pool);
	return error;
}
