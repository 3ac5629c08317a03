/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chains.c - the callchain reports of `trace stats`.
 */
#include "reader/cli/stats/chains.h"

#include <inttypes.h>
#include <stdlib.h>

#define INDENT_MAX 200u /* deeper frames keep this indent, so that a line ends */

const struct table_column chain_tree_columns[CHAIN_TREE_COLUMNS] = {
	{"Total (%)", false, 0, false},
	{"Total Time (ns)", false, 0, false},
	{"Self Time (ns)", false, 0, false},
	{"Calls", false, 0, false},
	{"Self Calls", false, 0, false},
	{"Depth", false, 0, false},
	{"Name", true, 72, false},
	{"Module", true, 30, true},
};

const struct table_column chain_flat_columns[CHAIN_FLAT_COLUMNS] = {
	{"Total (%)", false, 0, false},
	{"Self (%)", false, 0, false},
	{"Total Time (ns)", false, 0, false},
	{"Self Time (ns)", false, 0, false},
	{"Calls", false, 0, false},
	{"Self Calls", false, 0, false},
	{"Name", true, 72, false},
	{"Module", true, 30, true},
	{"Source", true, 36, true},
};

static void percent_cell(struct table *t, const struct profile *p, enum profile_weight weight,
	uint64_t ns, uint64_t count)
{
	uint64_t part = weight == PROFILE_COUNT ? count : ns;
	uint64_t whole = weight == PROFILE_COUNT ? p->nodes[0].total_count : p->nodes[0].total_ns;
	table_cell(t, "%.1f", whole ? 100.0 * (double)part / (double)whole : 0.0);
}

void chain_tree_fill(struct table *t, struct profile *p, enum profile_weight weight, bool indent)
{
	uint32_t count;
	struct profile_entry *entries = profile_order(p, weight, &count);
	t->broken |= !entries && p->frame_count;
	for (uint32_t i = 0; i < count; i++) {
		const struct profile_node *node = &p->nodes[entries[i].node];
		const struct profile_frame *frame = &p->frames[node->frame];
		uint32_t depth = entries[i].depth, spaces = depth < INDENT_MAX ? depth : INDENT_MAX;
		percent_cell(t, p, weight, node->total_ns, node->total_count);
		table_cell(t, "%" PRIu64, node->total_ns);
		table_cell(t, "%" PRIu64, node->self_ns);
		table_cell(t, "%" PRIu64, node->total_count);
		table_cell(t, "%" PRIu64, node->self_count);
		table_cell(t, "%u", depth);
		table_cell(t, "%*s%s", indent ? (int)spaces * 2 : 0, "", frame->function);
		table_cell(t, "%s", frame->module ? frame->module : "");
	}
	free(entries);
}

void chain_flat_fill(struct table *t, struct profile *p, enum profile_weight weight)
{
	uint32_t count;
	struct profile_entry *entries = profile_order(p, weight, &count);
	struct profile_flat *rows = entries ? profile_flat(p, entries, count, weight) : NULL;
	t->broken |= !rows && p->frame_count;
	for (uint32_t i = 0; rows && i < p->frame_count; i++) {
		const struct profile_flat *row = &rows[i];
		const struct profile_frame *frame = &p->frames[row->frame];
		percent_cell(t, p, weight, row->total_ns, row->total_count);
		percent_cell(t, p, weight, row->self_ns, row->self_count);
		table_cell(t, "%" PRIu64, row->total_ns);
		table_cell(t, "%" PRIu64, row->self_ns);
		table_cell(t, "%" PRIu64, row->total_count);
		table_cell(t, "%" PRIu64, row->self_count);
		table_cell(t, "%s", frame->function);
		table_cell(t, "%s", frame->module ? frame->module : "");
		if (frame->file && frame->line)
			table_cell(t, "%s:%u", frame->file, frame->line);
		else
			table_cell(t, "%s", frame->file ? frame->file : "");
	}
	free(rows);
	free(entries);
}
