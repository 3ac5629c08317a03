/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.c - `trace stats`: the command.
 *
 * Chooses the reports of each file, and how each is computed: by one pass over the file (stats.c)
 * if possible, else in SQL (database/stats.c).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "reader/cli/base/output.h"
#include "reader/cli/commands.h"
#include "reader/cli/info/info.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/names_near.h"
#include "reader/cli/base/options.h"
#include "reader/cli/base/select.h"
#include "reader/cli/stats/stats.h"
#include "reader/cli/database/stats.h"
#include "reader/sql/reports.h"

/* The output, and the reports wanted of each file. */
struct output {
	FILE *out;
	const char *name; /* name of out */
	const char *list; /* NULL = all reports that apply */
	struct stats_form form;
	struct stats_document document;
	bool windowed, joined; /* joined: nothing is printed between tables */
	int files;
};

/* Return a report's name by index: direct reports, then SQL reports; NULL after the last one. */
static const char *name_at(size_t n)
{
	const char *direct;
	const struct sql_report *r;
	for (size_t i = 0; (direct = stats_direct_at(i)); i++)
		if (!n--)
			return direct;
	for (size_t i = 0; (r = report_at(i)); i++)
		if (!r->is_rule && !stats_direct(r->name, strlen(r->name)) && !n--)
			return r->name;
	return NULL;
}

#define LIST_WIDTH 100u

static void nearest_names_print(const char *name, int bytes)
{
	char *list = NULL, *near = names_near(name, (size_t)bytes, name_at);
	size_t size, column = 0;
	const char *each;
	if (near) {
		cli_error("unknown report '%.*s'; did you mean %s? see 'trace help stats'", bytes,
			name, near);
		free(near);
		return;
	}
	FILE *out = open_memstream(&list, &size);
	for (size_t i = 0; out && (each = name_at(i)); i++) {
		bool fresh = !i || column + 3 + strlen(each) > LIST_WIDTH;
		fprintf(out, "%s%s", !i ? "\n  " : fresh ? ",\n  " : ", ", each);
		column = (fresh ? 2 : column + 2) + strlen(each);
	}
	if (out && !fclose(out))
		cli_error("unknown report '%.*s'; known reports:%s", bytes, name, list);
	free(list);
}

static bool list_is_known(const char *list)
{
	for (const char *at = list; at; at++) {
		size_t bytes = strcspn(at, ",");
		if (!stats_direct(at, bytes) && !stats_sql_knows(at, bytes)) {
			nearest_names_print(at, (int)bytes);
			return false;
		}
		at += bytes;
		if (!*at)
			break;
	}
	return true;
}

/* Return whether a report of the list needs more than the times of kernels. */
static bool list_has_metrics(const char *list)
{
	return list && (!strncmp(list, "ncu_", 4) || strstr(list, ",ncu_"));
}

/* Return whether the database is to be created without function names: only these reports print
 * them. */
static bool leaves_names(const struct output *o)
{
	return o->form.no_symbols ||
		!(strstr(o->list, "cpu_by_function") || strstr(o->list, "offcpu_sum") ||
			strstr(o->list, "cuda_memory") || strstr(o->list, "python_gil_sum") ||
			strstr(o->list, "critical_path_") || strstr(o->list, "blame_sum") ||
			strstr(o->list, "gpu_idle_sum") || strstr(o->list, "mpi_late_sum"));
}

static bool is_direct(const struct output *o, const char *report, size_t bytes)
{
	return !o->windowed && stats_direct(report, bytes);
}

/* Return whether a report is computed by passes over this file. A database, which is converted to a
 * temporary report for that, has callchains but not the calls below the threshold. */
static bool passes_over(const struct output *o, const char *report, size_t bytes, bool is_database)
{
	return is_direct(o, report, bytes) &&
		(!is_database || !strncmp(report, "callchain_", strlen("callchain_")));
}

/* Return whether all reports of the list are computed by passes over the file. */
static bool all_direct(const struct output *o)
{
	bool direct = true;
	for (const char *at = o->list; direct; at++) {
		size_t bytes = strcspn(at, ",");
		direct = is_direct(o, at, bytes);
		at += bytes;
		if (!*at)
			break;
	}
	return direct;
}

static int worse(int a, int b)
{
	return a > b ? a : b;
}

/* Print one report of a list by SQL; the database is opened when first needed. */
static int sql_one(struct output *o, struct stats_database *d, const char *file, const char *report,
	size_t bytes)
{
	if (!stats_sql_knows(report, bytes)) {
		cli_error("report %.*s is not available for %s", (int)bytes, report,
			o->windowed ? "a time window" : "databases, only for reports");
		return STATUS_FAILED;
	}
	if (o->form.filter.name) {
		cli_error("--name cannot filter %.*s of '%s'; use 'trace query'", (int)bytes,
			report, file);
		return STATUS_FAILED;
	}
	if (!d->file && stats_database_open(d, file, &o->form, leaves_names(o)))
		return STATUS_FAILED;
	return worse(d->status, stats_sql_print(d, report, bytes, &o->form, o->out));
}

/* Print the reports one by one, each in its own way. */
static int list_print(struct output *o, const char *file, bool is_database)
{
	struct stats_database d = {0};
	int status = STATUS_OK;
	char *sql = reports_sql(o->list);
	o->form.read_by = sql;
	for (const char *at = o->list; status != STATUS_FAILED; at++) {
		size_t bytes = strcspn(at, ",");
		char *name = strndup(at, bytes);
		int one = !name ? STATUS_FAILED
			: passes_over(o, at, bytes, is_database)
			? stats_print(file, name, &o->form, o->out, o->name)
			: sql_one(o, &d, file, at, bytes);
		free(name);
		status = worse(status, one);
		at += bytes;
		if (!*at)
			break;
		if (!o->joined)
			fputc('\n', o->out);
	}
	if (d.file)
		stats_database_close(&d);
	o->form.read_by = NULL;
	free(sql);
	return status;
}

static int applying_in_sql(struct output *o, const char *file, const char *done, bool no_symbols)
{
	struct stats_database d;
	if (stats_database_open(&d, file, &o->form, no_symbols))
		return STATUS_FAILED;
	int status = worse(d.status, stats_sql_print_all(&d, done, &o->form, o->out));
	stats_database_close(&d);
	return status;
}

/* Return whether there are events of a kind that only SQL reports cover. */
static bool wants_sql(const uint64_t *events)
{
	static const uint32_t kinds[] = {KIND_CPU_SAMPLE, KIND_THREAD_TIME, KIND_SCHED_SWITCH,
		KIND_GIL_WAIT, KIND_FUNCTION_CALL};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (events[kinds[i]])
			return true;
	const struct schema_event *e;
	for (uint32_t n = 0; (e = schema_event_at(n)); n++)
		if (events[e->number] &&
			(!strncmp(e->name, "cuda_", 5) || !strncmp(e->name, "codexl_", 7)))
			return true;
	return false;
}

/* Print a note if nothing was recorded; skipped tables alone do not say so. */
static void empty_print(const char *file, const uint64_t *events, bool no_wait)
{
	struct info i = {.r.quiet = true};
	char reasons[EMPTY_REASONS_BYTES];
	if (!info_events_empty(events) || info_gather(&i, file, no_wait))
		return;
	info_empty_reasons(&i, reasons, sizeof(reasons));
	if (info_is_empty(&i))
		cli_note("'%s' has no events: %s", file, reasons);
	info_release(&i);
}

/* Print the reports that apply. The direct ones come first, and also count the other events. */
static int applying_print(struct output *o, const char *file)
{
	uint64_t events[SCHEMA_KINDS] = {0};
	struct stats_form form = o->form;
	bool has_results = false, skips_osrt = false, any;
	form.events = events;
	form.results_only = &has_results;
	form.imported_only = &skips_osrt;
	int status = stats_print(file, "osrt_sum", &form, o->out, o->name);
	form.events = NULL;
	form.results_only = NULL;
	form.imported_only = NULL;
	any = !skips_osrt;
	if (status != STATUS_FAILED && !has_results)
		empty_print(file, events, o->form.no_wait);
	if (status != STATUS_FAILED && has_results) {
		cli_note("'%s': use '-r ncu_metric_sum' for metrics by kernel", file);
		return worse(status, applying_in_sql(o, file, "", true));
	}
	if (status != STATUS_FAILED && (events[KIND_NVTX_RANGE] || events[KIND_NVTX_START_END])) {
		if (any && !o->joined)
			fputc('\n', o->out);
		any = true;
		status = worse(status, stats_print(file, "nvtx_sum", &form, o->out, o->name));
	}
	if (status != STATUS_FAILED && (wants_sql(events) || !any))
		status = worse(status,
			applying_in_sql(o, file, any ? ",osrt_sum,nvtx_sum," : "",
				form.no_symbols ||
					!(events[KIND_CPU_SAMPLE] || events[KIND_THREAD_TIME])));
	return status;
}

static int stats_file(const struct options *options, const char *file, void *user)
{
	struct output *o = user;
	bool is_database = sql_file_is_foreign(file);
	int status;
	if (is_database && select_filter()) {
		cli_error("cannot filter '%s': --nvtx-include and --nvtx-exclude work only on "
			  "reports",
			file);
		return STATUS_FAILED;
	}
	if (o->files++ && !o->joined)
		fputc('\n', o->out);
	if (options->argc > 1 && !o->joined)
		fprintf(o->out, "%s\n", file);
	if (!o->list)
		status = is_database || o->windowed ? applying_in_sql(o, file, "", !o->windowed)
						    : applying_print(o, file);
	else if (!is_database && all_direct(o))
		status = stats_print(file, o->list, &o->form, o->out, o->name);
	else
		status = list_print(o, file, is_database);
	return status == STATUS_FAILED ? status : worse(status, cli_finish(o->out, o->name));
}

/* Build the form from the options. Returns false after a message. */
static bool form_make(const struct options *o, struct stats_form *ret_form)
{
	const char *window = o->value[OPT_stats_filter_time], *unit = o->value[OPT_stats_time_unit];
	*ret_form = (struct stats_form){
		.format = o->value[OPT_stats_format],
		.symbol_path = o->value[OPT_stats_symbol_path],
		.no_wait = o->value[OPT_stats_no_wait],
		.no_symbols = o->value[OPT_stats_no_symbols],
		.weight = option_is(o, OPT_stats_weight, "count") ? PROFILE_COUNT : PROFILE_TIME,
		.source = profile_source_named(o->value[OPT_stats_source]),
		.filter = {.pid = (uint32_t)option_number(o, OPT_stats_process, 0),
			.tid = (uint32_t)option_number(o, OPT_stats_thread, 0),
			.name = o->value[OPT_stats_name]},
		.window = {.all = true},
		.nvtx_window = o->value[OPT_stats_filter_nvtx],
	};
	return stats_window_options(window, unit, &ret_form->window, &ret_form->time);
}

/* Give the file the mode that the umask leaves, as for the output of any program: only reports and
 * exports are private (0600). */
static void mode_usual(int fd)
{
	const mode_t mask = umask(0);
	umask(mask);
	(void)fchmod(fd, 0666 & ~mask);
}

int command_stats(const struct options *o)
{
	const char *name = o->value[OPT_stats_output];
	struct output output = {.list = o->value[OPT_stats_report]};
	const struct select_options by = {
		OPT_stats_nvtx_include, OPT_stats_nvtx_exclude, OPT_stats_nvtx_scope, NULL, false};
	select_callchains(o->value[OPT_stats_callchains]);
	if (!list_is_known(output.list) || !form_make(o, &output.form) || select_by(o, &by))
		return STATUS_FAILED;
	bool to_stdout = !name || !strcmp(name, "-");
	struct cli_output file = {.file = stdout};
	if (!to_stdout && !cli_output_open(&file, name, true))
		return STATUS_FAILED;
	if (file.temporary)
		mode_usual(fileno(file.file));
	output.out = file.file;
	output.name = to_stdout ? "standard output" : name;
	output.windowed = !output.form.window.all || output.form.nvtx_window;
	const enum table_format format = table_format_named(output.form.format);
	output.document.is_used =
		format == TABLE_JSON && (o->argc > 1 || !output.list || strchr(output.list, ','));
	output.form.document = &output.document;
	output.joined = format == TABLE_ALIGNED || output.document.is_used;
	output.form.kernels_only = !list_has_metrics(output.list);
	int status = option_files(o, stats_file, &output);
	stats_document_end(&output.document, output.out);
	if (to_stdout)
		return worse(status, cli_finish(output.out, output.name));
	int closed =
		cli_output_close(&file, name, true, status == STATUS_FAILED ? status : STATUS_OK);
	return closed ? closed : status;
}
