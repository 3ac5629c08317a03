/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx.c - the rows of the NVTX reports.
 */
#define _GNU_SOURCE
#include "reader/cli/stats/nvtx.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/cli/stats/cells.h"

#define DEPTH_SHOWN 200u /* deeper ranges keep this indent, so that a line ends */

/* clang-format off */
#define DURATION_COLUMNS               \
	{"Time (%)", false, 0, false}, \
	{"Total Time (ns)", false, 0, false}, \
	{"Instances", false, 0, false}, \
	{"Avg (ns)", false, 0, false}, \
	{"Med (ns)", false, 0, false}, \
	{"Min (ns)", false, 0, false}, \
	{"Max (ns)", false, 0, false}, \
	{"StdDev (ns)", false, 0, false}
/* clang-format on */

const struct table_column nvtx_sum_columns[NVTX_SUM_COLUMNS] = {
	DURATION_COLUMNS,
	{"Style", true, 0, false},
	{"Range", true, 72, false},
};

const struct table_column nvtx_style_columns[NVTX_STYLE_COLUMNS] = {
	DURATION_COLUMNS,
	{"Range", true, 72, false},
};

const struct table_column nvtx_trace_columns[NVTX_TRACE_COLUMNS] = {
	{"Start (ns)", false, 0, false},
	{"End (ns)", false, 0, false},
	{"Duration (ns)", false, 0, false},
	{"DurChild (ns)", false, 0, false},
	{"DurNonChild (ns)", false, 0, false},
	{"Name", true, 72, false},
	{"PID", false, 0, false},
	{"TID", false, 0, false},
	{"Lvl", false, 0, false},
	{"NumChild", false, 0, false},
	{"RangeId", false, 0, false},
	{"ParentId", false, 0, false},
	{"RangeStack", true, 30, true},
	{"NameTree", true, 72, false},
};

/* Append the groups of one style; style < 0: of both, with a column for the style. */
static void groups_fill(struct table *t, const struct nvtx_sums *sums, int style)
{
	long double all = 0;
	for (uint32_t i = 0; i < sums->count; i++)
		if (style < 0 || (int)sums->groups[i]->style == style)
			all += (long double)sums->groups[i]->durations.total;
	for (uint32_t i = 0; i < sums->count; i++) {
		const struct nvtx_group *g = sums->groups[i];
		if ((style >= 0 && (int)g->style != style) || !g->durations.count)
			continue;
		stats_duration_cells(t, &g->durations, all);
		if (style < 0)
			table_cell(t, "%s", g->style == NVTX_PUSH_POP ? "PushPop" : "StartEnd");
		table_cell(t, "%s", g->name);
	}
}

void nvtx_sum_fill(struct table *t, const struct nvtx_sums *sums)
{
	groups_fill(t, sums, -1);
}

void nvtx_style_fill(struct table *t, const struct nvtx_sums *sums, enum nvtx_style style)
{
	groups_fill(t, sums, (int)style);
}

/* Append the stack of a range, ":1:2:3", outermost first; of a deep stack, only the innermost
 * ranges. */
static void stack_cell(struct table *t, const struct nvtx_trace *trace, uint32_t index)
{
	char text[DEPTH_SHOWN * 12];
	size_t at = sizeof(text) - 1;
	text[at] = 0;
	for (uint32_t id = index + 1, depth = 0; id && depth < DEPTH_SHOWN;
		id = trace->ranges[id - 1].parent, depth++) {
		char number[16];
		int length = snprintf(number, sizeof(number), ":%u", id);
		at -= (size_t)length;
		memcpy(text + at, number, (size_t)length);
	}
	table_cell(t, "%s", text + at);
}

static void tree_cell(struct table *t, uint32_t level, const char *name)
{
	char dashes[2 * DEPTH_SHOWN + 1];
	size_t length = 2 * (size_t)(level < DEPTH_SHOWN ? level : DEPTH_SHOWN);
	memset(dashes, '-', length);
	dashes[length] = 0;
	table_cell(t, "%s%s", dashes, name);
}

void nvtx_trace_fill(
	struct table *t, const struct nvtx_trace *trace, struct contents *c, uint64_t origin_ns)
{
	for (uint32_t i = 0; i < trace->count && !t->broken; i++) {
		const struct nvtx_range *r = &trace->ranges[i];
		const struct process *p = process_find(&c->processes, r->process);
		uint64_t ns = r->end_ns - r->start_ns;
		char *name = nvtx_full_name(c, r->domain, r->text);
		t->broken |= !name;
		table_cell(t, "%" PRId64, (int64_t)(r->start_ns - origin_ns));
		table_cell(t, "%" PRId64, (int64_t)(r->end_ns - origin_ns));
		table_cell(t, "%" PRIu64, ns);
		table_cell(t, "%" PRIu64, r->children_ns);
		table_cell(t, "%" PRId64, (int64_t)(ns - r->children_ns));
		table_cell(t, "%s", name ? name : "");
		table_cell(t, "%u", p ? p->facts->pid : 0);
		table_cell(t, "%u", r->tid);
		table_cell(t, "%u", r->level);
		table_cell(t, "%u", r->children);
		table_cell(t, "%u", i + 1);
		if (r->parent)
			table_cell(t, "%u", r->parent);
		else
			table_cell(t, "%s", "");
		stack_cell(t, trace, i);
		tree_cell(t, r->level, name ? name : "");
		free(name);
	}
}
