/*
 * dump.c - `trace dump`: the events, one a line, in order of their start.
 */
#include <errno.h>

#include "reader/cli/cli.h"
#include "reader/cli/events.h"

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
		cli_error("'%s' is no kind of event", kind);
		return -EINVAL;
	}
	f->kind = event ? event->number : 0;
	return 0;
}

int command_dump(const struct options *o)
{
	struct cli_report r;
	struct cursor_filter filter;
	const struct contents_visitor visitor = {&r, NULL, NULL, cli_problem};
	const char *file = option_file(o);
	if (!file || filter_fill(&filter, o) || cli_open(&r, file, o->value[OPT_dump_no_wait]))
		return STATUS_FAILED;
	const struct events_form form = {
		.json = o->value[OPT_dump_json],
		.absolute = o->value[OPT_dump_absolute],
		.no_symbols = o->value[OPT_dump_no_symbols],
		.symbol_path = o->value[OPT_dump_symbol_path],
	};
	int error = events_print(stdout, &r, &visitor, &filter, &form);
	int status = error && error != -EPIPE ? cli_failed(&r, error)
					      : cli_finish(stdout, "standard output");
	if (!status && r.problems)
		status = STATUS_DAMAGED;
	cli_close(&r);
	return status;
}
