/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why.c - `trace why`: the critical path of a run, summed up by cause.
 *
 * The path is computed by reader/reports/shared/path.sql and reader/sql/critical_path.h.
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
#include "reader/cli/database/stats.h"

struct why {
	struct stats_form form;
	const char *range; /* pattern of NVTX ranges; NULL = the whole run */
	bool path;         /* print the segments, too */
	bool no_symbols;
};

/* What the paths consist of. */
enum path_sum { PATHS, SEGMENTS, NS, UNKNOWN_NS, EXACT, LIKELY, UNKNOWN, SUMS };

static int sum_row(void *user, const struct sql_value *values, int count)
{
	int64_t *sums = user;
	for (int i = 0; i < count && i < SUMS; i++)
		sums[i] = values[i].integer;
	return 0;
}

/* Print how long the paths are and how much of them is not known; nothing if there was nothing to
 * make a path of. Returns 0 or a negative errno. */
static int sum_print(struct sql *s)
{
	static const char made[] =
		"SELECT count(*) FROM temp.sqlite_master WHERE name = 'PATH_SEGMENTS'";
	static const char query[] =
		"SELECT count(DISTINCT goal), count(*), sum(ns), "
		"coalesce(sum(CASE WHEN how = 'unknown' OR kind = 'before' THEN ns END), 0), "
		"count(CASE WHEN how = 'exact' THEN 1 END), "
		"count(CASE WHEN how = 'likely' THEN 1 END), "
		"count(CASE WHEN how = 'unknown' THEN 1 END) FROM PATH_SEGMENTS";
	int64_t sum[SUMS] = {0};
	const struct sql_visitor visitor = {sum, NULL, sum_row};
	int error = sql_run(s, made, &visitor);
	if (error || !sum[0])
		return error;
	error = sql_run(s, query, &visitor);
	if (error || !sum[NS])
		return error;
	printf("\n%" PRId64 " segments in %" PRId64 " path%s of %.6f s; %.1f %% are not known. "
	       "What ended waits: %" PRId64 " exact, %" PRId64 " likely, %" PRId64 " unknown\n",
		sum[SEGMENTS], sum[PATHS], sum[PATHS] == 1 ? "" : "s", (double)sum[NS] / 1e9,
		100.0 * (double)sum[UNKNOWN_NS] / (double)sum[NS], sum[EXACT], sum[LIKELY],
		sum[UNKNOWN]);
	return 0;
}

/* Print one of the two reports. Returns an exit status. */
static int report_print(const struct why *w, struct stats_database *d, const char *name)
{
	char *report = NULL;
	if (asprintf(&report, "%s%s%s", name, w->range ? ":range=" : "", w->range ? w->range : "") <
		0) {
		cli_error("out of memory");
		return STATUS_FAILED;
	}
	int status = stats_sql_print(d, report, strlen(report), &w->form, stdout);
	free(report);
	return status;
}

static int why_file(const struct options *o, const char *file, void *user)
{
	const struct why *w = user;
	const bool is_table = !w->form.format || !strcmp(w->form.format, "table");
	struct stats_database d;
	(void)o;
	if (stats_database_open(&d, file, &w->form, w->no_symbols))
		return STATUS_FAILED;
	int status = report_print(w, &d, w->path ? "critical_path_trace" : "critical_path_sum");
	int error = status == STATUS_FAILED || !is_table ? 0 : sum_print(&d.sql);
	if (error)
		status = sql_file_failed(&d.sql, file, "compute the critical path", error);
	if (status == STATUS_OK)
		status = d.status;
	stats_database_close(&d);
	return status;
}

int command_why(const struct options *o)
{
	struct why w = {.form = {.format = o->value[OPT_why_format],
				.symbol_path = o->value[OPT_why_symbol_path],
				.no_wait = o->value[OPT_why_no_wait],
				.window = {.all = true}},
		.range = o->value[OPT_why_range],
		.path = o->value[OPT_why_path],
		.no_symbols = o->value[OPT_why_no_symbols]};
	const char *unit = o->value[OPT_why_time_unit];
	select_callchains(o->value[OPT_why_callchains]);
	if (w.range && strpbrk(w.range, ":,")) {
		cli_error("invalid range '%s': write ? for ':' and ','", w.range);
		return STATUS_FAILED;
	}
	if (!stats_window_options(NULL, unit, &w.form.window, &w.form.time))
		return STATUS_FAILED;
	int status = option_files(o, why_file, &w);
	int finished = cli_finish(stdout, "standard output");
	return finished ? finished : status;
}
