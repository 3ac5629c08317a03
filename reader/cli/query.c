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
#include "reader/cli/database/stats.h"
#include "reader/cli/base/stop.h"
#include "reader/sql/path/compute.h"
#include "reader/sql/reports.h"
#include "reader/sql/views.h"

/* Files of reports/shared that create tables, in the order in which they run. */
enum {
	NVTX = 1 << 0,
	MEMORY_USE = 1 << 1,
	MEMORY = 1 << 2,
	LAUNCHES = 1 << 3,
	OCCUPANCY = 1 << 4,
};
static const char *const files[] = {
	"nvtx", "cuda_memory_use", "cuda_memory", "launch_calls", "kernel_occupancy"};

/* Tables that are computed on demand, and the files that create them. */
static const struct {
	const char *table;
	unsigned files;
} computed[] = {
	{"CUDA_MEMORY_LIVE", NVTX | MEMORY_USE | MEMORY},
	{"CUDA_ALLOCATION_CALLS", NVTX | MEMORY_USE | MEMORY},
	{"CUDA_ALLOCATIONS", MEMORY_USE},
	{"CUDA_MEMORY_USE", MEMORY_USE},
	{"KERNEL_OCCUPANCY", LAUNCHES | OCCUPANCY},
};

/* Return whether a statement names a table that the database does not have, or a negative errno. */
static int table_wanted(struct sql *s, const char *statement, const char *table)
{
	int has = strcasestr(statement, table) ? sql_has(s, table, NULL) : 1;
	return has < 0 ? has : !has;
}

/* Create the tables that are computed on demand: those that the statement names and the database
 * does not have. Tables of the database keep all their columns: the views of reports are dropped
 * again. Returns 0 or a negative errno. */
static int tables_compute(struct sql *s, const char *statement)
{
	unsigned wanted = 0;
	for (size_t i = 0; i < sizeof(computed) / sizeof(computed[0]); i++) {
		int wants = table_wanted(s, statement, computed[i].table);
		if (wants < 0)
			return wants;
		wanted |= wants ? computed[i].files : 0;
	}
	const int path = table_wanted(s, statement, "LIBTRACE_CRITICAL_PATH");
	const int graph = path < 0 ? path : table_wanted(s, statement, "LIBTRACE_WAIT_GRAPH");
	if (graph < 0 || !(wanted || path || graph))
		return graph;
	int error = views_make(s);
	if (!error)
		error = views_number_gpus(s);
	for (size_t i = 0; !error && i < sizeof(files) / sizeof(files[0]); i++)
		if (wanted >> i & 1)
			error = sql_run(s, report_shared(files[i]), NULL);
	if (!error && (path || graph))
		error = path_compute(s, path, graph);
	return error ? error : views_drop(s);
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
		stats_cut_note(&s, o->argv[0]);
	if (!error)
		error = sql_rows_print(
			&s, o->argv[1], table_format_named(o->value[OPT_query_format]), stdout);
	int finished = error ? sql_file_failed(&s, o->argv[0], "run the statement", error)
			     : cli_finish(stdout, "standard output");
	sql_close(&s);
	stop_if_asked();
	return finished ? finished : status;
}
