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
#include "reader/sql/reports.h"
#include "reader/sql/views.h"

/* Tables that are computed on demand, and the files of reports/shared that create them in this
 * order. */
static const struct {
	const char *table, *steps[3];
} computed[] = {
	{"CUDA_MEMORY_LIVE", {"nvtx", "cuda_memory_use", "cuda_memory"}},
	{"CUDA_ALLOCATION_CALLS", {"nvtx", "cuda_memory_use", "cuda_memory"}},
	{"CUDA_ALLOCATIONS", {"cuda_memory_use"}},
	{"CUDA_MEMORY_USE", {"cuda_memory_use"}},
	{"KERNEL_OCCUPANCY", {"launch_calls", "kernel_occupancy"}},
};

/* Create a table of `computed`, and those that its files create before it. Returns 0 or a negative
 * errno. */
static int table_compute(struct sql *s, size_t number)
{
	int error = views_make(s);
	for (size_t i = 0; !error && i < 3 && computed[number].steps[i]; i++)
		error = sql_run(s, report_shared(computed[number].steps[i]), NULL);
	return error ? error : views_drop(s);
}

/* Create the tables of the critical path that the statement names and the database does not have.
 * Returns 0 or a negative errno. */
static int path_tables_compute(struct sql *s, const char *statement)
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

/* Create the tables that are computed on demand, if the statement names one and the database does
 * not have it: those of the first row that it names, or of the critical path. Returns 0 or a
 * negative errno. */
static int tables_compute(struct sql *s, const char *statement)
{
	for (size_t i = 0; i < sizeof(computed) / sizeof(computed[0]); i++)
		if (strcasestr(statement, computed[i].table)) {
			int has = sql_has(s, computed[i].table, NULL);
			return has < 0 ? has : has ? 0 : table_compute(s, i);
		}
	return path_tables_compute(s, statement);
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
