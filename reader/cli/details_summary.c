/*
 * details_summary.c - `trace details --print-summary`: launches of one kernel and shape together,
 * with per-nvtx those in the same ranges of a domain, each metric of their sections' headers with
 * its least and greatest value and the arithmetic mean.
 *
 * Held are a group for each kernel and shape, and in it a row for each metric; results are gone
 * once they are added.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/cli/details.h"
#include "reader/cli/details_nvtx.h"
#include "reader/pool.h"

/* Texts are of the pool, so equal ones have one address. */
struct summary_row {
	const char *section, *label, *name, *unit;
	uint64_t count;
	double least, most, sum;
};

struct summary_group {
	size_t process;               /* index; per NVTX state: 0 */
	struct nvtx_state_text state; /* per NVTX state only, else all NULL */
	uint64_t device;
	const char *kernel, *grid, *block, *cc;
	uint64_t launches;
	struct summary_row *rows;
	uint32_t capacity;
	size_t count, next; /* next: where the row after the last one found lies */
};

struct summary {
	struct pool pool;
	bool by_device, by_state;
	void *tree;                    /* groups, by what they are of */
	struct summary_group **groups; /* the same, in order, at the end */
	size_t count;
};

/* ---- groups ---- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_state(const struct nvtx_state_text *x, const struct nvtx_state_text *y)
{
	int order = x->domain && y->domain ? strcmp(x->domain, y->domain) : 0;
	if (order || !x->domain || !y->domain)
		return order;
	order = strcmp(x->order, y->order);
	return order ? order : strcmp(x->own, y->own);
}

static int by_kernel(const void *a, const void *b)
{
	const struct summary_group *x = a, *y = b;
	int order = by_state(&x->state, &y->state);
	order = order ? order : compare_u64(x->process, y->process);
	order = order ? order : strcmp(x->kernel, y->kernel);
	order = order ? order : strcmp(x->grid, y->grid);
	order = order ? order : strcmp(x->block, y->block);
	order = order ? order : compare_u64(x->device, y->device);
	return order ? order : strcmp(x->cc, y->cc);
}

/* Devices in front, for the pages that have a heading for each. */
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

/* The texts of a group that is new. */
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

/* state: NULL = whatever ranges were open. NULL: no memory. */
static struct summary_group *group_of(struct summary *s, const struct details *d, size_t id,
	const Ncu__ProfileResult *r, const struct nvtx_state_text *state)
{
	char grid[DETAILS_DIM_BYTES], block[DETAILS_DIM_BYTES], cc[DETAILS_DIM_BYTES];
	char *name = details_kernel_name(d, r);
	if (!name)
		return NULL;
	details_dim_text(r->grid_size, grid);
	details_dim_text(r->block_size, block);
	details_cc_text(d, r, cc);
	struct summary_group key = {.process = state ? 0 : d->results.entries[id].process,
		.state = state ? *state : (struct nvtx_state_text){0},
		.device = details_device(d, r),
		.kernel = name,
		.grid = grid,
		.block = block,
		.cc = cc};
	struct summary_group *const *found = tfind(&key, &s->tree, by_kernel);
	struct summary_group *g = found ? *found : pool_room(&s->pool, sizeof(*g));
	if (g && !found) {
		*g = key;
		if (!group_keep(s, g))
			g = NULL;
		s->count += g != NULL;
	}
	free(name);
	return g;
}

/* ---- rows ---- */

static struct summary_row *row_new(struct summary_group *g)
{
	if (array_room(&g->rows, g->count, &g->capacity, sizeof(*g->rows)))
		return NULL;
	return &g->rows[g->count++];
}

/* Launches of a kernel mostly have the same metrics in the same order. */
static struct summary_row *row_find(struct summary_group *g, const char *section, const char *name)
{
	for (size_t i = 0; i < g->count; i++) {
		size_t at = (g->next + i) % g->count;
		if (g->rows[at].name == name && g->rows[at].section == section) {
			g->next = at + 1;
			return &g->rows[at];
		}
	}
	return NULL;
}

static int row_add(struct summary *s, struct summary_group *g, const struct details *d,
	const Ncu__ProfilerSection *of, const struct ncu_shown *shown)
{
	double number;
	struct details_metric m;
	const Ncu__ProfileMetricValue *v = shown->metric ? shown->metric->metric_value : NULL;
	const char *section = text_keep(s, of->display_name ? of->display_name : "");
	const char *name = text_keep(s, shown->name);
	if (!section || !name)
		return -ENOMEM;
	if (!v || !ncu_value_number(v, &number))
		return 0;
	struct summary_row *row = row_find(g, section, name);
	if (!row) {
		int error = details_metric_fill(d, shown, INSTANCES_NONE, &m);
		if (error)
			return error;
		row = row_new(g);
		if (row)
			*row = (struct summary_row){section, text_keep(s, m.label), name,
				text_keep(s, m.unit), 0, number, number, 0};
		details_metric_release(&m);
		if (!row || !row->label || !row->unit)
			return -ENOMEM;
	}
	row->least = number < row->least ? number : row->least;
	row->most = number > row->most ? number : row->most;
	row->sum += number;
	row->count++;
	return 0;
}

static int group_add(
	struct summary *s, struct summary_group *g, struct details *d, const Ncu__ProfileResult *r)
{
	struct ncu_target target = ncu_target_of(&d->results, r);
	int error = g ? 0 : -ENOMEM;
	for (size_t i = 0; !error && i < r->n_sections; i++) {
		const Ncu__ProfilerSection *of = r->sections[i];
		struct ncu_shown_list list = {0};
		target.section_filter = of->filter;
		if (of->header)
			error = ncu_shown_add(
				&list, &target, of->header->metrics, of->header->n_metrics);
		for (size_t k = 0; !error && k < list.count; k++)
			error = row_add(s, g, d, of, &list.metrics[k]);
		ncu_shown_release(&list);
	}
	if (g)
		g->launches++;
	return error;
}

struct adding {
	struct summary *summary;
	struct details *details;
	size_t id;
	const Ncu__ProfileResult *result;
};

static int state_add(void *user, const struct nvtx_state_text *state)
{
	struct adding *a = user;
	struct summary_group *g = group_of(a->summary, a->details, a->id, a->result, state);
	return group_add(a->summary, g, a->details, a->result);
}

static int result_add(struct details *d, size_t id, const Ncu__ProfileResult *r, void *user)
{
	struct summary *s = user;
	struct adding adding = {s, d, id, r};
	return s->by_state ? nvtx_states(r, state_add, &adding)
			   : group_add(s, group_of(s, d, id, r, NULL), d, r);
}

/* ---- printing ---- */

static int by_section(const void *a, const void *b)
{
	const struct summary_row *x = a, *y = b;
	int order = strcmp(x->section, y->section);
	return order ? order : strcmp(x->name, y->name);
}

/* Its three numbers, in the unit that fits their mean. */
static void row_texts(const struct details *d, const struct summary_row *row,
	char ret_unit[NCU_UNIT_BYTES], char ret_texts[3][NCU_NUMBER_BYTES])
{
	const double mean = row->sum / (double)row->count;
	const double numbers[] = {row->least, row->most, mean};
	double scale = 1;
	ncu_unit(row->name, ret_unit);
	if (*ret_unit && !d->base_units)
		scale = ncu_unit_scale(ret_unit, mean);
	else if (!*ret_unit)
		snprintf(ret_unit, NCU_UNIT_BYTES, "%s", row->unit);
	for (size_t i = 0; i < 3; i++)
		snprintf(ret_texts[i], NCU_NUMBER_BYTES, "%.2f", numbers[i] / scale);
}

static void row_csv(const struct details *d, const struct summary *s, const struct summary_group *g,
	const struct summary_row *row)
{
	const struct ncu_process *p = &d->results.processes[g->process];
	char unit[NCU_UNIT_BYTES], texts[3][NCU_NUMBER_BYTES], number[24];
	snprintf(number, sizeof(number), "%" PRIu32, p->pid);
	csv_cell(d->out, true, s->by_state ? g->state.domain : number);
	csv_cell(d->out, false, s->by_state ? g->state.cell : details_base_name(p->path));
	if (!s->by_state)
		csv_cell(d->out, false, p->host);
	const char *kernel[] = {g->kernel, g->block, g->grid};
	for (size_t i = 0; !s->by_device && i < 3; i++)
		csv_cell(d->out, false, kernel[i]);
	csv_format(d->out, "%" PRIu64, g->device);
	csv_cell(d->out, false, g->cc);
	for (size_t i = 0; s->by_device && i < 3; i++)
		csv_cell(d->out, false, kernel[i]);
	csv_format(d->out, "%" PRIu64, g->launches);
	row_texts(d, row, unit, texts);
	csv_cell(d->out, false, row->section);
	csv_cell(d->out, false, row->label);
	csv_cell(d->out, false, unit);
	for (size_t i = 0; i < 3; i++)
		csv_cell(d->out, false, texts[i]);
	fputc('\n', d->out);
}

static void csv_heading(const struct details *d, const struct summary *s)
{
	static const char *const kernel[] = {"Process ID", "Process Name", "Host Name",
		"Kernel Name", "Block Size", "Grid Size", "Device", "CC", "Invocations",
		"Section Name", "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average"};
	static const uint8_t device_first[] = {0, 1, 2, 6, 7, 3, 4, 5, 8, 9, 10, 11, 12, 13, 14};
	if (s->by_state) {
		csv_cell(d->out, true, "Domain");
		csv_cell(d->out, false, "Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg");
	}
	for (size_t i = s->by_state ? 3 : 0; i < sizeof(kernel) / sizeof(*kernel); i++)
		csv_cell(d->out, i == 0, kernel[s->by_device ? device_first[i] : i]);
	fputc('\n', d->out);
}

/* The rows of one section as a table; returns how many. */
static size_t section_table(
	struct details *d, const struct summary_row *rows, size_t count, int indent, int *ret_error)
{
	static const char *const titles[] = {
		"Metric Name", "Metric Unit", "Minimum", "Maximum", "Average"};
	struct details_rows table = {
		.titles = titles, .columns = 5, .left = 1, .lines = LINES_ROUND_ALL};
	size_t n = 0;
	int error = 0;
	for (; !error && n < count && rows[n].section == rows[0].section; n++) {
		char unit[NCU_UNIT_BYTES], texts[3][NCU_NUMBER_BYTES];
		row_texts(d, &rows[n], unit, texts);
		error = details_rows_add(&table, rows[n].label);
		if (!error)
			error = details_rows_add(&table, unit);
		for (size_t i = 0; !error && i < 3; i++)
			error = details_rows_add(&table, texts[i]);
	}
	fprintf(d->out, "%*sSection: %s\n", indent, "", rows[0].section);
	if (!error)
		details_rows_print(&table, d->out, indent, 0, false);
	fputc('\n', d->out);
	details_rows_release(&table);
	*ret_error = error;
	return n;
}

static int group_print(struct details *d, const struct summary *s, const struct summary_group *g,
	const struct summary_group *before)
{
	const struct ncu_process *p = &d->results.processes[g->process];
	int error = 0, indent = s->by_device ? 4 : 2;
	const bool same = before && before->process == g->process;
	if (s->by_state && (!before || strcmp(before->state.domain, g->state.domain)))
		fprintf(d->out, "\n== NVTX State ==\n%s\n", g->state.domain);
	if (s->by_state && (!before || by_state(&before->state, &g->state)))
		fputs(g->state.lines, d->out);
	else if (!s->by_state && !same)
		fprintf(d->out, "[%" PRIu32 "] %s@%s\n", p->pid, details_base_name(p->path),
			p->host);
	if (s->by_device && (!same || before->device != g->device || strcmp(before->cc, g->cc)))
		fprintf(d->out, "  Device %" PRIu64 ", CC %s\n", g->device, g->cc);
	fprintf(d->out, "%*s%s %sx%s, ", indent, "", g->kernel, g->grid, g->block);
	if (!s->by_device)
		fprintf(d->out, "Device %" PRIu64 ", CC %s, ", g->device, g->cc);
	fprintf(d->out, "Invocations %" PRIu64 "\n", g->launches);
	for (size_t i = 0; !error && i < g->count;)
		i += section_table(d, g->rows + i, g->count - i, indent + 2, &error);
	return error;
}

static int summary_print(struct details *d, struct summary *s)
{
	int error = 0;
	if (d->csv)
		csv_heading(d, s);
	for (size_t i = 0; !error && i < s->count; i++) {
		struct summary_group *g = s->groups[i];
		if (g->count)
			qsort(g->rows, g->count, sizeof(*g->rows), by_section);
		for (size_t k = 0; d->csv && k < g->count; k++)
			row_csv(d, s, g, &g->rows[k]);
		if (!d->csv)
			error = group_print(d, s, g, i ? s->groups[i - 1] : NULL);
	}
	if (!error && !d->csv && s->count)
		fputs("  Average: the arithmetic mean over the launches, of values that were "
		      "evaluated for each of them.\n\n",
			d->out);
	return error;
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

int details_summary(struct details *d)
{
	struct summary s = {
		.by_device = d->summary == SUMMARY_GPU, .by_state = d->summary == SUMMARY_NVTX};
	int error = details_each(d, result_add, &s);
	s.groups = calloc(s.count + 1, sizeof(*s.groups));
	if (!s.groups)
		error = -ENOMEM;
	s.count = 0;
	if (s.groups)
		twalk_r(s.tree, collect, &s);
	if (!error && s.by_device)
		qsort(s.groups, s.count, sizeof(*s.groups), by_device);
	if (!error)
		error = summary_print(d, &s);
	if (!error && s.by_state && !s.count && d->filter.any)
		cli_note("'%s': no kernel was launched in an NVTX range", d->r.path);
	for (size_t i = 0; i < s.count; i++)
		free(s.groups[i]->rows);
	tdestroy(s.tree, nothing);
	free(s.groups);
	pool_release(&s.pool);
	return error;
}
