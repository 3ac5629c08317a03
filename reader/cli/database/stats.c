/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.c - statistics by the SQL files of reader/reports.
 */
#define _GNU_SOURCE
#include "reader/cli/database/stats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/cli/database/rows.h"
#include "reader/cli/base/stop.h"
#include "reader/sql/window.h"

/* The default reports, in the order of nsys. */
static const char *const usual[] = {"nvtx_sum", "osrt_sum", "cuda_api_sum", "cuda_gpu_kern_sum",
	"cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum", "cpu_by_function", "cpu_sum",
	"function_sum", "thread_time_sum", "process_time_sum", "sched_sum", "offcpu_sum",
	"python_gil_sum", "openmp_sum", "mpi_event_sum", "um_sum", "um_total_sum",
	"um_cpu_page_faults_sum", "openacc_sum", "syscall_sum"};

const struct sql_report *stats_usual_at(size_t n)
{
	const char *name = n < sizeof(usual) / sizeof(usual[0]) ? usual[n] : NULL;
	return name ? report_find(name, strlen(name), false) : NULL;
}

bool stats_window_options(const char *window, const char *unit, struct sql_window *ret_window,
	enum table_time *ret_time)
{
	if (window && !window_parse(window, ret_window)) {
		cli_error("invalid time window '%s': expected [START]/[END], such as '1s/2500ms'",
			window);
		return false;
	}
	if (unit && !table_time_named(unit, ret_time)) {
		cli_error("unknown time unit '%s': expected nsec, usec, msec or seconds", unit);
		return false;
	}
	return true;
}

bool stats_rows_option(const char *rows)
{
	if (!rows || !strcmp(rows, "all") || strtoull(rows, NULL, 10))
		return true;
	cli_error("invalid argument '%s' for --rows: expected an integer of at least 1, or all",
		rows);
	return false;
}

int stats_database_open(
	struct stats_database *d, const char *file, const struct stats_form *form, bool no_symbols)
{
	const struct sql_open_form open_form = {.symbol_path = form->symbol_path,
		.no_symbols = no_symbols,
		.kernels_only = form->kernels_only,
		.read_by = form->read_by,
		.no_wait = form->no_wait};
	struct sql_window window = form->window;
	*d = (struct stats_database){.file = file};
	d->status = sql_file_open(&d->sql, file, &open_form);
	if (d->status == STATUS_FAILED)
		return STATUS_FAILED;
	int error = views_make(&d->sql);
	if (!error)
		error = views_number_gpus(&d->sql);
	window.pid = form->filter.pid;
	window.tid = form->filter.tid;
	if (!error && form->nvtx_window)
		error = window_of_range(&d->sql, form->nvtx_window, &window);
	if (!error && (!window.all || window.pid || window.tid))
		error = views_window(&d->sql, &window);
	if (!error)
		return STATUS_OK;
	sql_file_failed(&d->sql, file, "prepare the reports", error);
	stats_database_close(d);
	return STATUS_FAILED;
}

void stats_database_close(struct stats_database *d)
{
	sql_close(&d->sql);
	stops_end();
}

static size_t name_bytes(const char *report, size_t bytes)
{
	const char *colon = memchr(report, ':', bytes);
	return colon ? (size_t)(colon - report) : bytes;
}

bool stats_sql_knows(const char *report, size_t bytes)
{
	return report_find(report, name_bytes(report, bytes), false);
}

struct frame {
	struct sql *sql;
	const struct sql_report *report;
	FILE *out;
};

static void heading_print(void *user)
{
	const struct frame *f = user;
	char *title = sql_report_title(f->sql, f->report);
	fprintf(f->out, "\n ** %s (%s):\n\n", title ? title : "", f->report->name);
	free(title);
}

static bool is_filtered(const struct stats_form *form)
{
	return form->filter.pid || form->filter.tid || !form->window.all || form->nvtx_window;
}

static int text_keep(void *user, const struct sql_value *values, int count)
{
	char **text = user;
	if (count == 1 && values[0].type == SQL_TEXT && !*text)
		*text = strndup(values[0].text, values[0].bytes);
	return 0;
}

/* Return why a report has no CPU samples, or fewer than its processor time, although they were
 * requested; NULL = they were not, nothing is missing, or it is not known. */
static char *unsampled_cause(struct sql *s)
{
	static const char query[] =
		"SELECT 'CPU samples were requested and cover ' || "
		"printf('%.3f', sampled / 1e9) || ' s' || "
		"CASE WHEN whole IS NULL THEN '' "
		"ELSE printf(' of %.3f s of processor time', whole / 1e9) END || "
		"CASE WHEN blocked THEN '; threads blocked SIGURG, the signal that takes them, ' "
		"|| CASE blocked WHEN 1 THEN 'once' ELSE blocked || ' times' END ELSE '' END || "
		"CASE WHEN refused THEN '; threads without a timer: ' || refused ELSE '' END || "
		"coalesce('; ' || off, '') "
		"FROM (SELECT sum(sampledTime) AS sampled, CASE WHEN count(*) = "
		"count(processTime) THEN sum(processTime) END AS whole, sum(blocked) AS blocked, "
		"sum(threadsRefused) AS refused, max(off) AS off FROM main.LIBTRACE_CPU_RECEIPT) "
		"WHERE sampled IS NOT NULL AND coalesce(2 * sampled < whole, 1)";
	char *text = NULL;
	const struct sql_visitor visitor = {&text, NULL, text_keep};
	if (sql_has(s, "LIBTRACE_CPU_RECEIPT", "sampledTime") > 0)
		sql_run(s, query, &visitor);
	return text;
}

bool stats_cut_note(struct sql *s, const char *file)
{
	static const char query[] =
		"SELECT 'the last ' || cut || ' of ' || n || ' launches of graphs' FROM "
		"(SELECT sum(left_out) AS cut, count(*) AS n FROM temp.CUDA_GRAPH_LAUNCHES) "
		"WHERE cut";
	char *text = NULL;
	const struct sql_visitor visitor = {&text, NULL, text_keep};
	const bool is_cut = !sql_run(s, query, &visitor) && text;
	if (is_cut)
		cli_note("'%s': %s are not counted: together they allocate and free too often",
			file, text);
	free(text);
	return is_cut;
}

/* Print what is missing in a report, by its header "before:". */
static void cut_note(struct stats_database *d, const struct sql_report *report)
{
	char *before = report_header(report, "before");
	if (before && strstr(before, "cuda_memory_use") && !d->cut_noted)
		d->cut_noted = stats_cut_note(&d->sql, d->file);
	free(before);
}

char *stats_data_name(struct sql *s, const struct sql_report *report)
{
	char *data = report_header(report, "data"), *option = data;
	if (sql_has(s, "LIBTRACE_PROCESS", NULL) > 0)
		return data;
	while (option && (option = strstr(option, " (--"))) {
		const char *rest = option + strcspn(option, ")");
		rest += *rest != 0;
		memmove(option, rest, strlen(rest) + 1);
	}
	return data;
}

/* Return the first diagnostic whose text begins so; NULL = none. */
static char *diagnostic_of(struct sql *s, const char *begin)
{
	char query[256], *text = NULL;
	const struct sql_visitor visitor = {&text, NULL, text_keep};
	snprintf(query, sizeof(query),
		"SELECT text FROM main.DIAGNOSTIC_EVENT WHERE text LIKE '%s%%' LIMIT 1", begin);
	if (sql_has(s, "DIAGNOSTIC_EVENT", "text") > 0)
		sql_run(s, query, &visitor);
	return text;
}

char *stats_missing_cause(struct sql *s, const struct sql_report *report)
{
	/* Options in the header "data:", and how the diagnostics about their data begin. */
	static const struct {
		const char *option, *begin;
	} rows[] = {{"(--gpu-metrics", "hardware metrics are not recorded"},
		{"--gpu-metrics-frequency", "hardware metrics are not recorded"},
		{"--machine-samples", "no samples of the machine"},
		{"--functions", "calls of library functions are not recorded"},
		{"--trace=openmp", "OpenMP of GNU"}, {"Python's GIL", "waits for Python"},
		{"--gpu-metrics", "CUDA is not recorded"}, {"--cuda-", "CUDA is not recorded"},
		{"--trace=cuda", "CUDA is not recorded"}};
	char *data = report_header(report, "data"), *cause = NULL;
	if (data && !strncmp(data, "CPU samples", 11))
		cause = unsampled_cause(s);
	for (size_t i = 0; data && !cause && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strstr(data, rows[i].option))
			cause = diagnostic_of(s, rows[i].begin);
	free(data);
	return cause;
}

/* Print that a report has no rows, and why its data is missing: the cause, where that is known, or
 * the options that record it. */
static void skipped_print(
	struct stats_database *d, const struct sql_report *report, const char *data, FILE *out)
{
	char *cause = stats_missing_cause(&d->sql, report);
	const char *options = data ? strstr(data, " (--") : NULL;
	const size_t bytes = options ? (size_t)(options - data) : data ? strlen(data) : 0;
	fprintf(out, "SKIPPED: %s does not contain %.*s data%s%s.\n", d->file, (int)bytes,
		data ? data : "", cause ? ": " : "",
		cause             ? cause
			: options ? options
				  : "");
	free(cause);
}

int stats_sql_print(struct stats_database *d, const char *report, size_t bytes,
	const struct stats_form *form, FILE *out)
{
	size_t length = name_bytes(report, bytes);
	struct frame frame = {&d->sql, report_find(report, length, false), out};
	const struct sql_form sql_form = {.format = table_format_named(form->format),
		.time = form->time,
		.rows_most = form->rows_most};
	struct sql_outcome outcome;
	char *arguments = length < bytes ? strndup(report + length + 1, bytes - length - 1) : NULL;
	bool aligned = sql_form.format == TABLE_ALIGNED;
	if (aligned)
		fprintf(out, "Processing [%s] with [%s]... \n", d->file, frame.report->name);
	stats_document_table(form->document, out, d->file, report, bytes);
	int error = length < bytes && !arguments
		? -ENOMEM
		: sql_report_print(&d->sql, frame.report, arguments, &sql_form, heading_print,
			  &frame, out, &outcome);
	stats_document_table_end(form->document, out);
	char *data = error ? NULL : stats_data_name(&d->sql, frame.report);
	if (!error && aligned && !outcome.rows && is_filtered(form))
		fprintf(out, STATS_NO_MATCH, d->file);
	else if (!error && aligned && !outcome.rows)
		skipped_print(d, frame.report, data, out);
	if (!error && form->rows_most && outcome.rows > form->rows_most)
		fprintf(out, "%" PRIu64 " more; --rows all prints all of them\n",
			outcome.rows - form->rows_most);
	if (!error && aligned)
		fputc('\n', out);
	if (!error && !aligned && outcome.skipped)
		cli_note("'%s' does not contain %s data; %s is empty", d->file, data ? data : "",
			frame.report->name);
	if (!error)
		cut_note(d, frame.report);
	free(data);
	free(arguments);
	char what[80];
	snprintf(what, sizeof(what), "compute %s", frame.report->name);
	return error ? sql_file_failed(&d->sql, d->file, what, error) : STATUS_OK;
}

/* Return whether the tables that the report needs have rows. */
static bool applies(struct stats_database *d, const struct sql_report *r)
{
	char *needs = report_header(r, "needs");
	int met = needs ? sql_needs_met(&d->sql, needs) : 0;
	free(needs);
	return met > 0;
}

int stats_sql_print_all(
	struct stats_database *d, const char *done, const struct stats_form *form, FILE *out)
{
	bool aligned = table_format_named(form->format) == TABLE_ALIGNED;
	int status = STATUS_OK;
	bool any = *done;
	for (size_t i = 0; !status && i < sizeof(usual) / sizeof(usual[0]); i++) {
		char name[64];
		const struct sql_report *r = report_find(usual[i], strlen(usual[i]), false);
		snprintf(name, sizeof(name), ",%s,", usual[i]);
		if (strstr(done, name) || !applies(d, r))
			continue;
		if (any && !aligned && !stats_document_used(form->document))
			fputc('\n', out);
		any = true;
		status = stats_sql_print(d, usual[i], strlen(usual[i]), form, out);
	}
	if (!any && !status)
		cli_note("'%s' has no data for the default reports; see 'trace help stats'",
			d->file);
	return status;
}
