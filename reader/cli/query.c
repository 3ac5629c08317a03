/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query.c - `trace query`: SQL on a report, or on a database that nsys or `trace export` wrote.
 */
#include <errno.h>
#include <string.h>

#include "reader/cli/commands.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"
#include "reader/cli/base/select.h"
#include "reader/cli/database/open.h"
#include "reader/cli/database/rows.h"
#include "reader/cli/base/stop.h"

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
	int error = sql_rows_print(
		&s, o->argv[1], table_format_named(o->value[OPT_query_format]), stdout);
	int finished = error ? sql_file_failed(&s, o->argv[0], "run the statement", error)
			     : cli_finish(stdout, "standard output");
	sql_close(&s);
	stop_if_asked();
	return finished ? finished : status;
}
