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
#include "reader/sql/path/compute.h"

/* Create the tables that are computed on demand, if the statement names one and the database does
 * not have it. Returns 0 or a negative errno. */
static int tables_compute(struct sql *s, const char *statement)
{
	static const char *const names[] = {"LIBTRACE_CRITICAL_PATH", "LIBTRACE_WAIT_GRAPH"};
	bool wants[2];
	for (int i = 0; i < 2; i++) {
		int has = strcasestr(statement, names[i]) ? sql_has(s, names[i], NULL) : 1;
		if (has < 0)
			return has;
		wants[i] = !has;
	}
	return wants[0] || wants[1] ? path_compute(s, wants[0], wants[1]) : 0;
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
