/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtxt.c - `trace export --type nvtxt`: the text format of NVTX.
 */
#include "reader/cli/export/nvtxt.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "reader/cli/export/timeline.h"
#include "reader/cli/base/message.h"
#include "reader/export/nvtxt.h"

struct indexing {
	struct cursor cursor;
	const struct contents_visitor *visitor;
};

static int visit_block(void *user, const struct report_block *block)
{
	struct indexing *x = user;
	int error = cursor_add_block(&x->cursor, block);
	return error ? error : x->visitor->block(x->visitor->user, block);
}

static void visit_problem(void *user, uint64_t offset, const char *cause)
{
	struct indexing *x = user;
	x->visitor->problem(x->visitor->user, offset, cause);
}

static void note_columns(const char *path, const struct nvtxt_tally *t)
{
	const struct schema_event *event;
	for (uint32_t n = 0; (event = schema_event_at(n)); n++)
		for (uint32_t i = 0; i < event->field_count; i++)
			if (t->lost[event->number][i])
				cli_note("'%s': left out: %s of %" PRIu64 " %s", path,
					event->fields[i].column, t->lost[event->number][i],
					event->name);
}

/* Print what NVTXT cannot store, or stores only in comments. */
static void note_tally(const char *path, const struct nvtxt_tally *t)
{
	export_note_left_out(path, "NVTXT", t->left_out);
	note_columns(path, t);
	if (t->ids)
		cli_note("'%s': left out: %" PRIu64
			 " events of processes or threads with numbers that NVTXT cannot store",
			path, t->ids);
	if (t->noted)
		cli_note("'%s': %" PRIu64 " events have a domain, a payload or another column that "
			 "only 'trace import' reads back",
			path, t->noted);
	if (t->changed)
		cli_note("'%s': %" PRIu64 " texts are written with changed quotes or blanks, which "
			 "'trace import' restores",
			path, t->changed);
}

static bool is_empty(const struct nvtxt_tally *t)
{
	for (uint32_t kind = 0; kind < SCHEMA_KINDS; kind++)
		if (t->written[kind])
			return false;
	return true;
}

int export_nvtxt(FILE *out, const struct cli_report *r, const struct contents_visitor *visitor)
{
	static struct nvtxt_tally tally;
	struct contents c;
	struct indexing x = {.visitor = visitor};
	const struct cursor_filter all = {.end_ns = UINT64_MAX};
	const struct contents_visitor index = {&x, visit_block, NULL, visit_problem};
	const char *slash = strrchr(r->path, '/');
	contents_init(&c);
	cursor_init(&x.cursor, &r->report, &c, &all);
	int error = contents_read(&c, &r->report, &index);
	if (!error)
		error = nvtxt_write(out, &x.cursor, slash ? slash + 1 : r->path, &tally);
	if (!error) {
		note_tally(r->path, &tally);
		export_note_results(r->path, "NVTXT", &c);
		cli_note_cut_off(r, &c);
		error = is_empty(&tally) ? -ENODATA : 0;
	}
	cursor_release(&x.cursor);
	contents_release(&c);
	return error;
}
