/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - public functions that read the events of a report.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/api/api.h"
#include "reader/nvtx/decode.h"
#include "reader/report/event_print.h"

struct libtrace_events {
	struct contents contents; /* contents of the pass that registers blocks and payloads */
	struct cursor cursor;
	struct symbols symbols;
	struct nvtx_payloads payloads;
	char *name;
	bool no_symbols;
};

static int visit_block(void *user, const struct report_block *block)
{
	struct libtrace_events *e = user;
	return cursor_add_block(&e->cursor, block);
}

static int visit_batch(void *user, struct walk *walk, const struct event_batch *batch)
{
	struct libtrace_events *e = user;
	(void)walk;
	return nvtx_payloads_take(&e->payloads, batch);
}

/* Set the times of the filter, relative to the start of the session, which is known only after the
 * pass. */
static void times_set(struct libtrace_events *e, const struct libtrace_event_filter *filter)
{
	const uint64_t origin_ns = e->contents.session ? e->contents.session->start_ns : 0;
	e->cursor.filter.start_ns = filter->start_ns ? filter->start_ns + origin_ns : 0;
	e->cursor.filter.end_ns = filter->end_ns ? filter->end_ns + origin_ns : UINT64_MAX;
}

static int events_read(struct libtrace_events *e, struct libtrace_report *report,
	const struct libtrace_event_filter *filter)
{
	const struct schema_event *kind = filter->kind ? schema_event_named(filter->kind) : NULL;
	const struct contents_visitor visitor = {e, visit_block, visit_batch, NULL};
	const struct cursor_filter all = {.pid = filter->pid,
		.tid = filter->tid,
		.kind = kind ? kind->number : 0,
		.end_ns = UINT64_MAX,
		.name = e->name};
	contents_init(&e->contents);
	symbols_init(&e->symbols, &e->contents, NULL);
	nvtx_payloads_init(&e->payloads, &e->contents);
	cursor_init(&e->cursor, &report->report, &e->contents, &all);
	e->no_symbols = filter->no_symbols;
	int error = contents_read(&e->contents, &report->report, &visitor);
	if (filter->callchains <= CALLCHAINS_PYTHON)
		contents_choose_callchains(&e->contents, filter->callchains);
	times_set(e, filter);
	nvtx_payloads_ready(&e->payloads);
	cursor_start(&e->cursor);
	return error;
}

int libtrace_events_open(struct libtrace_report *report, const struct libtrace_event_filter *filter,
	struct libtrace_events **ret_events)
{
	if (filter->kind && !schema_event_named(filter->kind))
		return -EINVAL;
	struct libtrace_events *e = calloc(1, sizeof(*e));
	char *name = filter->name ? strdup(filter->name) : NULL;
	if (!e || (filter->name && !name)) {
		free(name);
		free(e);
		return -ENOMEM;
	}
	e->name = name;
	int error = events_read(e, report, filter);
	if (error)
		libtrace_events_close(e);
	else
		*ret_events = e;
	return error;
}

void libtrace_events_close(struct libtrace_events *e)
{
	if (!e)
		return;
	cursor_release(&e->cursor);
	nvtx_payloads_release(&e->payloads);
	symbols_release(&e->symbols);
	contents_release(&e->contents);
	free(e->name);
	free(e);
}

int libtrace_events_next(struct libtrace_events *e, size_t count, char **ret_json)
{
	char *text = NULL;
	size_t bytes, done = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return -ENOMEM;
	const struct event_printer printer = {.out = out,
		.contents = &e->contents,
		.symbols = e->no_symbols ? NULL : &e->symbols,
		.origin_ns = e->contents.session ? e->contents.session->start_ns : 0,
		.payloads = &e->payloads};
	struct event_row row;
	int more = 1;
	while (done < count && (more = cursor_next(&e->cursor, &row)) > 0) {
		event_print_json(&printer, &row);
		done++;
	}
	const bool failed = ferror(out);
	if (fclose(out) || failed)
		more = -ENOMEM;
	if (more < 0 || !done) {
		free(text);
		text = NULL;
	}
	if (more < 0)
		return more;
	*ret_json = text;
	return 0;
}
