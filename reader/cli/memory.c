/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - `trace memory`: who holds the memory of the GPU at a moment.
 *
 * The live set is computed by cuda_memory_use.sql and cuda_memory.sql of reader/reports/shared.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"
#include "reader/cli/base/output.h"
#include "reader/cli/base/select.h"
#include "reader/cli/commands.h"
#include "reader/cli/database/rows.h"
#include "reader/cli/database/stats.h"
#include "reader/sql/window.h"

struct memory {
	struct stats_form form;
	char at[32];      /* peak, oom, end, or ns since the start of the session */
	const char *rows; /* maximum number of rows of the live set; NULL = the report's own */
	bool flame;       /* print folded stacks instead of tables */
	bool no_symbols;
};

/* Parse the argument of --at. Returns false after a message. */
static bool at_parse(const char *text, char (*ret_at)[32])
{
	static const char *const words[] = {"peak", "oom", "end"};
	struct sql_window window = {0};
	char *open = NULL;
	bool parsed = false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(text, words[i])) {
			snprintf(*ret_at, sizeof(*ret_at), "%s", text);
			return true;
		}
	if (!strchr(text, '/') && asprintf(&open, "%s/", text) > 0)
		parsed = *text && window_parse(open, &window);
	free(open);
	if (parsed)
		snprintf(*ret_at, sizeof(*ret_at), "%" PRId64, window.start_ns);
	else
		cli_error(
			"invalid time '%s': expected peak, oom, end, or a time such as 1.5s", text);
	return parsed;
}

/* Print a report with its arguments. Returns an exit status. */
static int report_print(const struct memory *m, struct stats_database *d, const char *name)
{
	char report[128];
	const bool is_live = !strcmp(name, "cuda_memory_live");
	int length = snprintf(report, sizeof(report), "%s%s%s%s%s", name, is_live ? ":at=" : "",
		is_live ? m->at : "", m->rows ? ":rows=" : "", m->rows ? m->rows : "");
	return stats_sql_print(d, report, (size_t)length, &m->form, stdout);
}

static int flame_row(void *user, const struct sql_value *values, int count)
{
	(void)user;
	if (count == 2 && values[0].type == SQL_TEXT)
		printf("%s %" PRId64 "\n", values[0].text, values[1].integer);
	return 0;
}

/* Print the live set as folded stacks, a line for each callchain, with its bytes. Returns 0 or a
 * negative errno. */
static int flame_print(const struct memory *m, struct sql *s)
{
	static const char query[] =
		"SELECT coalesce(c.text, '[no callchain]'), sum(l.bytes) FROM CUDA_MEMORY_LIVE AS "
		"l "
		"LEFT JOIN (SELECT id, group_concat(replace(replace(text, ';', ','), char(10), "
		"' '), ';') AS text FROM (SELECT id, text FROM CUDA_ALLOCATION_FRAMES ORDER BY id, "
		"depth DESC) GROUP BY id) AS c ON c.id = l.chain GROUP BY 1 ORDER BY 2 DESC, 1";
	const struct sql_visitor visitor = {NULL, NULL, flame_row};
	char arguments[40];
	snprintf(arguments, sizeof(arguments), "at=%s", m->at);
	s->arguments = arguments;
	static const char *const steps[] = {"nvtx", "cuda_memory_use", "cuda_memory"};
	int error = 0;
	for (size_t i = 0; !error && i < sizeof(steps) / sizeof(*steps); i++)
		error = sql_run(s, report_shared(steps[i]), NULL);
	s->arguments = NULL;
	return error ? error : sql_run(s, query, &visitor);
}

static int seen(void *user, const struct sql_value *values, int count)
{
	(void)values, (void)count;
	*(bool *)user = true;
	return 0;
}

/* Print the tables: what was used, what was live, and what failed, if anything did. Returns an exit
 * status. */
static int tables_print(const struct memory *m, struct stats_database *d)
{
	static const char query[] = "SELECT 1 FROM CUDA_ALLOCATION_CALLS WHERE failed LIMIT 1";
	bool any_failed = false;
	const struct sql_visitor visitor = {&any_failed, NULL, seen};
	int status = report_print(m, d, "cuda_memory_sum");
	if (status == STATUS_OK)
		status = report_print(m, d, "cuda_memory_live");
	if (status == STATUS_OK && !sql_run(&d->sql, query, &visitor) && any_failed)
		status = report_print(m, d, "cuda_memory_fail");
	return status;
}

static int memory_file(const struct options *o, const char *file, void *user)
{
	const struct memory *m = user;
	struct stats_database d;
	int status, error = 0;
	(void)o;
	if (stats_database_open(&d, file, &m->form, m->no_symbols))
		return STATUS_FAILED;
	if (m->flame)
		error = flame_print(m, &d.sql);
	if (m->flame && !error)
		stats_cut_note(&d.sql, file);
	status = error     ? sql_file_failed(&d.sql, file, "compute the live set", error)
		: m->flame ? STATUS_OK
			   : tables_print(m, &d);
	if (status == STATUS_OK)
		status = d.status;
	stats_database_close(&d);
	return status;
}

int command_memory(const struct options *o)
{
	struct memory m = {.form = {.format = o->value[OPT_memory_format],
				   .symbol_path = o->value[OPT_memory_symbol_path],
				   .no_wait = o->value[OPT_memory_no_wait],
				   .window = {.all = true}},
		.at = "peak",
		.rows = o->value[OPT_memory_rows],
		.flame = o->value[OPT_memory_flame],
		.no_symbols = o->value[OPT_memory_no_symbols]};
	const char *at = o->value[OPT_memory_at], *unit = o->value[OPT_memory_time_unit];
	select_callchains(o->value[OPT_memory_callchains]);
	if ((at && !at_parse(at, &m.at)) ||
		!stats_window_options(NULL, unit, &m.form.window, &m.form.time))
		return STATUS_FAILED;
	int status = option_files(o, memory_file, &m);
	int finished = cli_finish(stdout, "standard output");
	return finished ? finished : status;
}
