/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query.c - `trace query`: SQL on a report, or on a database that nsys or `trace export` wrote.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "reader/cli/commands.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"
#include "reader/cli/base/select.h"
#include "reader/cli/database/open.h"
#include "reader/cli/database/rows.h"
#include "reader/cli/base/stop.h"
#include "reader/sql/reports.h"
#include "reader/sql/views.h"

/* Create the tables that are computed on demand, if the statement names one and the database does
 * not have it. Returns 0 or a negative errno. */
static int tables_compute(struct sql *s, const char *statement)
{
	static const char *const steps[] = {
		"osrt", "launch_calls", "gpu_work", "openmp", "path", "wait_graph"};
	const bool graph = strcasestr(statement, "LIBTRACE_WAIT_GRAPH");
	int has = sql_has(s, graph ? "LIBTRACE_WAIT_GRAPH" : "LIBTRACE_CRITICAL_PATH", NULL);
	if (has || (!graph && !strcasestr(statement, "LIBTRACE_CRITICAL_PATH")))
		return has < 0 ? has : 0;
	int error = views_make(s);
	for (size_t i = 0; !error && i < sizeof(steps) / sizeof(*steps) - !graph; i++)
		error = sql_run(s, report_shared(steps[i]), NULL);
	return error;
}

int command_query(const struct options *o)
{
	struct sql s;
	const struct sql_open_form form = {.no_symbols = o->value[OPT_query_no_symbols],
		.symbol_path = o->value[OPT_query_symbol_path],
		.no_wait = o->value[OPT_query_no_wait]};
	select_callchains(o->value[OPT_query_callchains]);
	if (o->argc != 2) {
		cli_error("expected FILE and SQL; see 'trace help query'");
		return STATUS_FAILED;
	}
	int status = sql_file_open(&s, o->argv[0], &form);
	if (status == STATUS_FAILED)
		return status;
	int error = tables_compute(&s, o->argv[1]);
	if (!error)
		error = sql_rows_print(
			&s, o->argv[1], table_format_named(o->value[OPT_query_format]), stdout);
	int finished = error ? sql_file_failed(&s, o->argv[0], "run the statement", error)
			     : cli_finish(stdout, "standard output");
	sql_close(&s);
	stop_if_asked();
	return finished ? finished : status;
}
