/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump.c - `trace dump`: the events, one per line, in order of their start.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "reader/cli/commands.h"
#include "reader/ncu/pages/dump_results.h"
#include "reader/cli/events.h"
#include "reader/cli/database/input.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"
#include "reader/cli/base/select.h"

static void kinds_print(const char *kind)
{
	char *list = NULL;
	size_t size;
	const struct schema_event *event;
	FILE *out = open_memstream(&list, &size);
	for (uint32_t i = 0; out && (event = schema_event_at(i)); i++)
		fprintf(out, "%s%s", i ? ", " : "", event->name);
	if (out && !fclose(out))
		cli_error("unknown event kind '%s'; known kinds: %s", kind, list);
	free(list);
}

static int filter_fill(struct cursor_filter *f, const struct options *o)
{
	*f = (struct cursor_filter){
		.pid = (uint32_t)option_number(o, OPT_dump_process, 0),
		.tid = (uint32_t)option_number(o, OPT_dump_thread, 0),
		.start_ns = option_number(o, OPT_dump_start, 0),
		.end_ns = option_number(o, OPT_dump_end, 0),
		.name = o->value[OPT_dump_name],
	};
	const char *kind = o->value[OPT_dump_kind];
	const struct schema_event *event = kind ? schema_event_named(kind) : NULL;
	if (kind && !event) {
		kinds_print(kind);
		return -EINVAL;
	}
	f->kind = event ? event->number : 0;
	if (o->value[OPT_dump_output])
		f->kind = KIND_STREAM_WRITE;
	return 0;
}

int command_dump(const struct options *o)
{
	struct cli_report r;
	struct cursor_filter filter;
	const struct contents_visitor visitor = {&r, NULL, NULL, cli_problem};
	const char *file = option_file(o);
	const struct select_options by = {OPT_dump_nvtx_include, OPT_dump_nvtx_exclude,
		OPT_dump_nvtx_scope, o->value[OPT_dump_filter_time], true};
	select_callchains(o->value[OPT_dump_callchains]);
	if (!file || filter_fill(&filter, o) || select_by(o, &by) ||
		input_open_events(&r, file, o->value[OPT_dump_no_wait]))
		return STATUS_FAILED;
	const struct events_form form = {
		.json = o->value[OPT_dump_json],
		.absolute = o->value[OPT_dump_absolute],
		.no_symbols = o->value[OPT_dump_no_symbols],
		.output = o->value[OPT_dump_output],
		.symbol_path = o->value[OPT_dump_symbol_path],
	};
	int error = is_of_ncu(&r.report) ? results_print(stdout, &r, form.json)
					 : events_print(stdout, &r, &visitor, &filter, &form);
	int status = error && error != -EPIPE ? cli_failed(&r, error)
					      : cli_finish(stdout, "standard output");
	if (!status && r.problems)
		status = STATUS_DAMAGED;
	cli_close(&r);
	return status;
}
