/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why.c - `trace why`: the critical path of a run, summed up by cause.
 *
 * The path is computed by reader/reports/shared/path.sql and reader/sql/path/.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/cli/base/message.h"
#include "reader/cli/base/names_near.h"
#include "reader/cli/base/options.h"
#include "reader/cli/base/output.h"
#include "reader/cli/base/python.h"
#include "reader/cli/base/select.h"
#include "reader/cli/commands.h"
#include "reader/base/print.h"
#include "reader/cli/database/rows.h"
#include "reader/cli/database/stats.h"

#define ROWS_USUAL 30u /* of a table */

struct why {
	struct stats_form form;
	const char *range; /* pattern of NVTX ranges; NULL = the whole run */
	char *arguments;   /* of the reports: range, rows and memory */
	bool path;         /* print the segments instead of the sums */
	bool json;         /* print an object for each file */
	bool no_symbols;
};

/* What the paths consist of. */
enum path_sum {
	PATHS,
	SEGMENTS,
	NS,
	UNKNOWN_NS,
	COMPUTING_NS,
	IS_SCHEDULED,
	LOCKS_NS,
	EXACT,
	LIKELY,
	UNKNOWN,
	SUMS
};

/* Read the row of sums of a statement into int64_t[SUMS]. */
static int sum_row(void *user, const struct sql_value *values, int count)
{
	int64_t *sums = user;
	for (int i = 0; i < count && i < SUMS; i++)
		sums[i] = values[i].integer;
	return 0;
}

/* Sum the segments up; all 0 if there was nothing to walk. Returns 0 or a negative errno. */
static int sums_read(struct sql *s, int64_t ret_sum[SUMS])
{
	static const char made[] =
		"SELECT count(*) FROM temp.sqlite_master WHERE name = 'PATH_CAUSES'";
	static const char query[] =
		"SELECT (SELECT count(*) FROM PATH_GOALS AS g JOIN PATH_THREADS AS t ON "
		"t.globalTid = g.track WHERE g.\"end\" > g.start), "
		"(SELECT sum(count) + count(DISTINCT segment) FROM PATH_SUMS), "
		"CAST(round(total(ns)) AS INTEGER), "
		"CAST(total(CASE WHEN how = 'unknown' OR kind = 'before' THEN ns END) AS INTEGER), "
		"CAST(total(CASE WHEN kind = 'between' AND (source IS NULL OR source = 6) THEN ns "
		"END) AS INTEGER), "
		"EXISTS (SELECT 1 FROM PATH_FACTS), "
		"CAST(total(CASE WHEN how = 'unknown' AND (name GLOB 'sem_*wait' OR name GLOB "
		"'pthread_*lock' OR name GLOB 'pthread_cond*') THEN ns END) AS INTEGER), "
		"coalesce(sum(CASE WHEN how = 'exact' AND kind NOT IN ('between', 'runnable') THEN "
		"count END), 0), "
		"coalesce(sum(CASE WHEN how = 'likely' AND kind NOT IN ('between', 'runnable') "
		"THEN count END), 0), "
		"coalesce(sum(CASE how WHEN 'unknown' THEN count END), 0) FROM PATH_SUMS";
	const struct sql_visitor visitor = {ret_sum, NULL, sum_row};
	memset(ret_sum, 0, SUMS * sizeof(*ret_sum));
	int error = sql_run(s, made, &visitor);
	if (error || !ret_sum[0])
		return error;
	return sql_run(s, query, &visitor);
}

static double share(int64_t part, int64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Print how long the paths are, and what of them is not known; nothing if there was nothing to
 * walk. is_ours: libtrace recorded the events, so its options can be named. */
static void sum_print(const int64_t sum[SUMS], bool is_ours)
{
	if (!sum[NS])
		return;
	printf("\n%" PRId64 " segments in %" PRId64
	       " path%s of %.6f s. Of the time, %.1f %% are waits that nobody is known to have "
	       "ended, and %.1f %% lie between recorded calls ('computing'). What ended waits: "
	       "%" PRId64 " exact, %" PRId64 " likely, %" PRId64 " unknown\n",
		sum[SEGMENTS], sum[PATHS], sum[PATHS] == 1 ? "" : "s", (double)sum[NS] / 1e9,
		share(sum[UNKNOWN_NS], sum[NS]), share(sum[COMPUTING_NS], sum[NS]), sum[EXACT],
		sum[LIKELY], sum[UNKNOWN]);
	if (share(sum[COMPUTING_NS], sum[NS]) >= 1 && !sum[IS_SCHEDULED])
		printf("Whether threads had a CPU while they computed is not known%s\n",
			is_ours ? ": record with --thread-time process-tree" : "");
	if (share(sum[LOCKS_NS], sum[NS]) >= 1)
		printf("Who ended waits for locks, conditions and semaphores of %.6f s is not "
		       "known%s\n",
			(double)sum[LOCKS_NS] / 1e9,
			is_ours ? ": record with --osrt-locks all and --osrt-threshold 0, so that "
				  "short calls which end them are recorded, too"
				: "");
}

static int wait_row(void *user, const struct sql_value *values, int count)
{
	bool *any = user;
	if (count == 2 && values[0].type == SQL_TEXT) {
		fputs(*any ? ", {\"wait\": " : "{\"wait\": ", stdout);
		print_json(stdout, values[0].text, strlen(values[0].text));
		printf(", \"ns\": %" PRId64 "}", values[1].integer);
		*any = true;
	}
	return 0;
}

/* Print for which locks threads waited, and how long others did meanwhile what is on the path.
 * Returns 0 or a negative errno. */
static int waits_print_json(struct sql *s, bool is_walked)
{
	static const char query[] =
		"SELECT wait_name, CAST(sum(ns) AS INTEGER) FROM PATH_CAUSES WHERE kind <> 'wake' "
		"AND (wait_source = 2 OR (wait_source = 0 AND osrt_class(substr(wait_name, 1, "
		"instr(wait_name || ' ', ' ') - 1)) = 'lock')) GROUP BY 1 ORDER BY 2 DESC, 1";
	bool any = false;
	const struct sql_visitor visitor = {&any, NULL, wait_row};
	fputs(", \"waits\": [", stdout);
	int error = is_walked ? sql_run(s, query, &visitor) : 0;
	fputs("]", stdout);
	return error;
}

static void sum_print_json(const int64_t sum[SUMS])
{
	printf(", \"paths\": %" PRId64 ", \"segments_total\": %" PRId64 ", \"ns\": %" PRId64
	       ", \"unknown_ns\": %" PRId64 ", \"computing_ns\": %" PRId64 ", \"exact\": %" PRId64
	       ", \"likely\": %" PRId64 ", \"unknown\": %" PRId64 "}\n",
		sum[PATHS], sum[SEGMENTS], sum[NS], sum[UNKNOWN_NS], sum[COMPUTING_NS], sum[EXACT],
		sum[LIKELY], sum[UNKNOWN]);
}

/* Print one of the two reports. Returns an exit status. */
static int report_print(const struct why *w, struct stats_database *d, const char *name)
{
	char *report = NULL;
	if (asprintf(&report, "%s%s%s", name, *w->arguments ? ":" : "", w->arguments) < 0) {
		cli_error("out of memory");
		return STATUS_FAILED;
	}
	int status = stats_sql_print(d, report, strlen(report), &w->form, stdout);
	free(report);
	return status;
}

/* Names of the ranges of a database, for suggestions; range_name_at() returns them. */
static struct {
	char **list; /* ends with NULL */
	size_t count;
} range_names;

static const char *range_name_at(size_t n)
{
	return n < range_names.count ? range_names.list[n] : NULL;
}

static int range_name_row(void *user, const struct sql_value *values, int count)
{
	(void)user;
	char **list = count == 1 && values[0].type == SQL_TEXT
		? reallocarray(range_names.list, range_names.count + 1, sizeof(*list))
		: NULL;
	char *name = list ? strdup(values[0].text) : NULL;
	range_names.list = list ? list : range_names.list;
	if (name)
		range_names.list[range_names.count++] = name;
	return name ? 0 : -ENOMEM;
}

static int number_row(void *user, const struct sql_value *values, int count)
{
	*(int64_t *)user = count == 1 ? values[0].integer : 0;
	return 0;
}

/* Print that no range has the name, and which have a similar one. */
static void range_refuse(const struct why *w, const char *file)
{
	char *near = names_near(w->range, strlen(w->range), range_name_at);
	if (!range_names.count)
		cli_error(
			"'%s' has no NVTX range '%s': it has no ranges that ended", file, w->range);
	else if (near)
		cli_error("'%s' has no NVTX range '%s'; did you mean %s?", file, w->range, near);
	else
		cli_error("'%s' has no NVTX range '%s'; it has %zu names of ranges, such as '%s'",
			file, w->range, range_names.count, range_names.list[0]);
	free(near);
}

/* Return whether a range matches the pattern; false after a message. */
static bool range_check(const struct why *w, struct stats_database *d)
{
	static const char names[] = "SELECT DISTINCT text FROM NVTX_RANGES WHERE \"end\" > start "
				    "AND text <> '' ORDER BY text LIMIT 10000";
	const struct sql_visitor visitor = {NULL, NULL, range_name_row};
	int64_t matches = 0;
	const struct sql_visitor counter = {&matches, NULL, number_row};
	d->sql.arguments = w->arguments;
	int error = sql_run(&d->sql,
		"SELECT count(*) FROM NVTX_RANGES WHERE text GLOB argument('range') AND \"end\" > "
		"start",
		&counter);
	if (!error && !matches)
		error = sql_run(&d->sql, names, &visitor);
	d->sql.arguments = NULL;
	if (error)
		sql_file_failed(&d->sql, d->file, "look for the ranges", error);
	else if (!matches)
		range_refuse(w, d->file);
	for (size_t i = 0; i < range_names.count; i++)
		free(range_names.list[i]);
	free(range_names.list);
	range_names.list = NULL;
	range_names.count = 0;
	return !error && matches;
}

/* Return whether there is something to walk, or nothing at all; false after a message if there are
 * CPU samples only. */
static bool calls_check(struct stats_database *d)
{
	if (sql_needs_met(&d->sql,
		    "COMPOSITE_EVENTS !OSRT_API !CUPTI_ACTIVITY_KIND_RUNTIME "
		    "!LIBTRACE_FUNCTION_CALL") <= 0)
		return true;
	cli_error("'%s' has CPU samples but no recorded calls, between which the critical path "
		  "runs: record with -t osrt or cuda, too",
		d->file);
	return false;
}

static int why_file(const struct options *o, const char *file, void *user)
{
	const struct why *w = user;
	const bool is_table = !w->form.format || !strcmp(w->form.format, "table");
	int64_t sum[SUMS] = {0};
	struct stats_database d;
	(void)o;
	if (stats_database_open(&d, file, &w->form, w->no_symbols))
		return STATUS_FAILED;
	if (!calls_check(&d) || (w->range && !range_check(w, &d))) {
		stats_database_close(&d);
		return STATUS_FAILED;
	}
	if (w->json) {
		fputs("{\"file\": ", stdout);
		print_json(stdout, file, strlen(file));
		printf(", \"%s\": ", w->path ? "segments" : "causes");
	}
	int status = report_print(w, &d, w->path ? "critical_path_trace" : "critical_path_sum");
	int error = status == STATUS_FAILED ? 0 : sums_read(&d.sql, sum);
	if (!error && status != STATUS_FAILED && w->json && !w->path)
		error = waits_print_json(&d.sql, sum[NS]);
	if (!error && status != STATUS_FAILED && w->json)
		sum_print_json(sum);
	else if (!error && status != STATUS_FAILED && is_table)
		sum_print(sum, sql_has(&d.sql, "LIBTRACE_PROCESS", NULL) > 0);
	if (error)
		status = sql_file_failed(&d.sql, file, "compute the critical path", error);
	if (status == STATUS_OK)
		status = d.status;
	stats_database_close(&d);
	return status;
}

static bool are_two(const struct options *o)
{
	if (o->before <= 0 || (o->argc == 2 && o->before == 1))
		return true;
	cli_error("expected one run on each side, A -- B; see 'trace help why'");
	return false;
}

/* Compare the paths of two runs. */
static int compare(const struct options *o)
{
	static const enum option_id others[] = {OPT_why_path, OPT_why_format, OPT_why_time_unit};
	struct python_arguments a = {0};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (o->value[others[i]]) {
			cli_error("--%s cannot be used with A -- B; see 'trace help why'",
				option_rows[others[i]].name);
			return STATUS_FAILED;
		}
	int error = python_add_options(&a, o);
	if (!error)
		error = python_add(&a, "--base=%s", o->argv[0]);
	if (!error)
		error = python_add(&a, "--other=%s", o->argv[1]);
	if (error) {
		cli_error("out of memory");
		return STATUS_FAILED;
	}
	return python_become("why", &a);
}

/* Write the arguments of the reports, NAME=VALUE with colons between them. The rows of a table are
 * counted, so all of them are computed. */
static bool arguments_make(const struct options *o, bool is_table, char **ret_text)
{
	static const struct {
		const char *name;
		int option;
	} arguments[] = {
		{"range", OPT_why_range}, {"memory", OPT_why_memory}, {"rows", OPT_why_rows}};
	const char *rows = o->value[OPT_why_rows];
	const size_t count = sizeof(arguments) / sizeof(arguments[0]) -
		(is_table || !rows || !strcmp(rows, "all"));
	size_t bytes = 0;
	FILE *out = open_memstream(ret_text, &bytes);
	for (size_t i = 0; out && i < count; i++)
		if (o->value[arguments[i].option])
			fprintf(out, "%s%s=%s", ftell(out) ? ":" : "", arguments[i].name,
				o->value[arguments[i].option]);
	return out && !fclose(out);
}

/* Write the page: that of `trace report`, with the path. Two runs are shown beside each other. */
static int page_write(const struct options *o)
{
	struct options r = *o;
	char *arguments;
	if (o->value[OPT_why_json] || o->value[OPT_why_path] || o->value[OPT_why_format] ||
		o->value[OPT_why_rows] || o->value[OPT_why_time_unit]) {
		cli_error("--html cannot be used with --json, --path, --format, --rows or "
			  "--time-unit");
		return STATUS_FAILED;
	}
	r.value[OPT_report_html] = "";
	if (!arguments_make(o, false, &arguments)) {
		cli_error("out of memory");
		return STATUS_FAILED;
	}
	r.value[OPT_report_critical_path] = arguments;
	r.value[OPT_report_output] = o->value[OPT_why_output];
	r.value[OPT_report_force_overwrite] = o->value[OPT_why_force_overwrite];
	r.value[OPT_report_callchains] = o->value[OPT_why_callchains];
	r.value[OPT_report_no_symbols] = o->value[OPT_why_no_symbols];
	r.value[OPT_report_symbol_path] = o->value[OPT_why_symbol_path];
	r.value[OPT_report_no_wait] = o->value[OPT_why_no_wait];
	const int status = command_report(&r);
	free(arguments);
	return status;
}

int command_why(const struct options *o)
{
	const char *rows = o->value[OPT_why_rows];
	if (!stats_rows_option(rows) || !are_two(o))
		return STATUS_FAILED;
	struct why w = {.form = {.format = o->value[OPT_why_format],
				.symbol_path = o->value[OPT_why_symbol_path],
				.no_wait = o->value[OPT_why_no_wait],
				.window = {.all = true}},
		.range = o->value[OPT_why_range],
		.path = o->value[OPT_why_path],
		.json = o->value[OPT_why_json],
		.no_symbols = o->value[OPT_why_no_symbols]};
	const char *unit = o->value[OPT_why_time_unit];
	if (w.json)
		w.form.format = "json";
	select_callchains(o->value[OPT_why_callchains]);
	if (w.range && strpbrk(w.range, ":,")) {
		cli_error("invalid range '%s': write ? for ':' and ','", w.range);
		return STATUS_FAILED;
	}
	if (o->value[OPT_why_html])
		return page_write(o);
	if (o->value[OPT_why_output] || o->value[OPT_why_force_overwrite]) {
		cli_error("--output and --force-overwrite need --html");
		return STATUS_FAILED;
	}
	if (o->before > 0)
		return compare(o);
	if (!stats_window_options(NULL, unit, &w.form.window, &w.form.time))
		return STATUS_FAILED;
	const bool is_table = !w.form.format || !strcmp(w.form.format, "table");
	if (is_table) /* not a number: all */
		w.form.rows_most = rows ? strtoull(rows, NULL, 10) : ROWS_USUAL;
	if (!arguments_make(o, is_table, &w.arguments)) {
		cli_error("out of memory");
		return STATUS_FAILED;
	}
	int status = option_files(o, why_file, &w);
	free(w.arguments);
	int finished = cli_finish(stdout, "standard output");
	return finished ? finished : status;
}
