/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.c - the page of `trace report --html`.
 */
#define _GNU_SOURCE
#include "reader/cli/report/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "page_html.h"
#include "reader/base/print.h"
#include "reader/cli/report/costs.h"
#include "reader/cli/report/merging.h"
#include "reader/cli/report/page_flame.h"
#include "reader/cli/report/page_json.h"
#include "reader/cli/report/page_timeline.h"
#include "reader/cli/database/rows.h"
#include "reader/sql/path/compute.h"
#include "reader/sql/reports.h"

#define TABLE_ROWS_MAX 200u
#define FINDING_ROWS_MAX 20u
#define PROCESSES_MAX 500

bool page_is_built(void)
{
	return sizeof(page_before) > 1;
}

void page_begin(FILE *out)
{
	fputs(page_before, out);
}

void page_end(FILE *out)
{
	fputs(page_behind, out);
}

/* ---- escaping ---- */

static ssize_t escaped_write(void *cookie, const char *text, size_t bytes)
{
	FILE *out = cookie;
	for (size_t at = 0; at < bytes;) {
		const char *less = memchr(text + at, '<', bytes - at);
		size_t run = less ? (size_t)(less - text) - at : bytes - at;
		fwrite(text + at, 1, run, out);
		at += run;
		if (less) {
			fputs("\\u003c", out);
			at++;
		}
	}
	return ferror(out) ? -1 : (ssize_t)bytes;
}

FILE *page_escaped(FILE *out)
{
	return fopencookie(out, "w", (cookie_io_functions_t){.write = escaped_write});
}

static void string(FILE *out, const char *text)
{
	page_text(out, text ? text : "", text ? strlen(text) : 0);
}

/* ---- overview ---- */

static void overview_print(FILE *out, const struct overview *o)
{
	fputs("\"verdict\": ", out);
	string(out, o->verdict);
	fprintf(out, ", \"complete\": %s, \"is_report\": %s, \"facts\": [",
		o->complete ? "true" : "false", o->is_report ? "true" : "false");
	for (size_t n = 0; n < o->count; n++) {
		fputs(n ? ", [" : "[", out);
		string(out, o->rows[n].label);
		fputs(", ", out);
		string(out, o->rows[n].value);
		fputc(']', out);
	}
	fputs("], \"notes\": [", out);
	for (size_t n = 0; n < o->note_count; n++) {
		fputs(n ? ", " : "", out);
		string(out, o->notes[n]);
	}
	fprintf(out, "], \"notes_left_out\": %" PRIu64, o->notes_left_out);
}

/* ---- rows of statements ---- */

struct rows {
	FILE *out;
	size_t columns; /* rows with another number of columns are not printed; 0 = all are */
	uint64_t count, most;
};

static void value_print(FILE *out, const struct sql_value *v)
{
	if (v->type == SQL_INTEGER)
		fprintf(out, "%" PRId64, v->integer);
	else if (v->type == SQL_REAL)
		print_real(out, v->real, 12);
	else if (v->type == SQL_TEXT)
		page_text(out, v->text, v->bytes);
	else
		fputs("null", out);
}

static int row_print(void *user, const struct sql_value *values, int count)
{
	struct rows *r = user;
	if (r->columns && (size_t)count != r->columns)
		return 0;
	if (r->count++ >= r->most)
		return 0;
	fputs(r->count > 1 ? ",\n[" : "[", r->out);
	for (int i = 0; i < count; i++) {
		fputs(i ? ", " : "", r->out);
		value_print(r->out, &values[i]);
	}
	fputc(']', r->out);
	return ferror(r->out) ? -EPIPE : 0;
}

static void member(FILE *out, const char *name, const char *text)
{
	fprintf(out, "\"%s\": ", name);
	string(out, text);
	fputs(", ", out);
}

static void columns_print(FILE *out, const struct sql_columns *c)
{
	fputs("\"columns\": [", out);
	for (size_t n = 0; n < c->count; n++) {
		fputs(n ? ", {" : "{", out);
		member(out, "title", c->column[n].title);
		fprintf(out, "\"text\": %s}", c->column[n].is_text ? "true" : "false");
	}
	fputs("], ", out);
}

struct table_rows {
	struct rows rows;
	struct costs *costs; /* NULL = its rows are no costs */
	const struct sql_report *report;
	const struct sql_columns *columns;
	const char *title;
};

static int table_row_print(void *user, const struct sql_value *values, int count)
{
	struct table_rows *t = user;
	if (t->costs && (size_t)count == t->columns->count)
		costs_add(t->costs, t->report, t->title ? t->title : t->report->name, t->columns,
			values);
	return row_print(&t->rows, values, count);
}

/* Print a report or rule with its rows, and add them to the costs; nothing if it has none. */
static int table_print_json(FILE *out, struct sql *s, const struct sql_report *report,
	const char *arguments, uint64_t most, bool *any, struct costs *costs)
{
	struct sql_columns columns;
	char *text = NULL, *title = sql_report_title(s, report),
	     *advice = sql_rule_advice(s, report), *severity = report_header(report, "severity");
	size_t bytes = 0;
	bool skipped;
	struct merging merging = {0};
	FILE *memory = open_memstream(&text, &bytes);
	int error = sql_columns_read(&columns, report);
	struct table_rows table = {
		{memory, columns.count, 0, most}, costs, report, &columns, title};
	const struct sql_visitor visitor = {&table, NULL, table_row_print};
	if (!memory)
		error = -ENOMEM;
	if (!error)
		error = merging_choose(s, report, &merging);
	if (!error)
		error = sql_report_run(
			s, report, merging.names ? "merge" : arguments, &visitor, &skipped);
	if (memory && fclose(memory) && !error)
		error = -ENOMEM;
	if (!error && table.rows.count) {
		fputs(*any ? ",\n{" : "\n{", out);
		*any = true;
		member(out, "name", report->name);
		member(out, "title", title);
		member(out, "severity", severity);
		member(out, "advice", advice);
		if (merging.names)
			fprintf(out, "\"merged\": [%" PRId64 ", %" PRId64 "], ", merging.names,
				merging.merged);
		columns_print(out, &columns);
		fprintf(out, "\"total\": %" PRIu64 ", \"rows\": [\n", table.rows.count);
		fwrite(text, 1, bytes, out);
		fputs("]}", out);
	}
	sql_columns_release(&columns);
	free(severity);
	free(advice);
	free(title);
	free(text);
	return error;
}

static void cost_print_json(FILE *out, const struct cost *cost, bool more)
{
	fputs(more ? ",\n{" : "\n{", out);
	member(out, "table", cost->table);
	member(out, "title", cost->title);
	member(out, "name", cost->name ? cost->name : "?");
	fprintf(out, "\"ns\": %" PRId64 ", \"count\": \"", cost->ns);
	cost_count_print(out, cost);
	fprintf(out, "\", \"waits\": %s, \"may_wait\": %s}", cost->waits ? "true" : "false",
		cost->may_wait ? "true" : "false");
}

static void costs_print_json(FILE *out, const struct costs *costs)
{
	const struct cost *cost;
	fputs(",\n\"costs\": [", out);
	for (size_t n = 0; n < COSTS_SHOWN && (cost = costs_at(costs, n)); n++)
		cost_print_json(out, cost, n > 0);
	fputs("],\n\"costs_left_out\": [", out);
	for (size_t n = 0; (cost = costs_left_out(costs, n)); n++)
		cost_print_json(out, cost, n > 0);
	fputs("]", out);
}

static int tables_print(FILE *out, struct sql *s)
{
	const struct sql_report *r;
	struct costs costs = {0};
	bool any = false;
	int error = 0;
	fputs(",\n\"tables\": [", out);
	for (size_t i = 0; !error && (r = stats_usual_at(i)); i++)
		error = table_print_json(out, s, r, NULL, TABLE_ROWS_MAX, &any, &costs);
	any = false;
	fputs("],\n\"findings\": [", out);
	for (size_t i = 0; !error && (r = report_at(i)); i++)
		if (r->is_rule)
			error = table_print_json(out, s, r, NULL, FINDING_ROWS_MAX, &any, NULL);
	fputs("]", out);
	costs_print_json(out, &costs);
	costs_release(&costs);
	return error;
}

/* Print the sums of the critical path, and compute its segments for the timeline. */
static int path_print(FILE *out, struct sql *s, const char *arguments)
{
	static const char *const names[] = {"critical_path_sum", "blame_sum"};
	bool any = false;
	int error = 0;
	fputs(",\n\"path\": [", out);
	for (size_t i = 0; !error && i < sizeof(names) / sizeof(names[0]); i++) {
		const struct sql_report *r = report_find(names[i], strlen(names[i]), false);
		error = table_print_json(out, s, r, arguments, TABLE_ROWS_MAX, &any, NULL);
	}
	fputs("]", out);
	s->arguments = arguments;
	error = error ? error : path_compute(s, true, false);
	s->arguments = NULL;
	return error ? error : sql_run(s, report_shared("page_path"), NULL);
}

/* Print the processes, each with its receipt. Only databases that libtrace wrote have them. */
static int processes_print(FILE *out, struct sql *s)
{
	static const char statement[] =
		"SELECT p.pid, p.parentPid, coalesce(p.arguments, p.executable, ''), "
		"p.start, p.\"end\", "
		"p.endHow, p.exitStatus, p.traced, p.reason, r.produced, r.written, r.summarized, "
		"p.dropped, r.tracer, p.globalPid >> 24 FROM main.LIBTRACE_PROCESS AS p "
		"LEFT JOIN main.LIBTRACE_RECEIPT AS r "
		"ON r.globalPid = p.globalPid AND r.processId = p.processId ORDER BY p.start";
	struct rows rows = {out, 0, 0, PROCESSES_MAX};
	const struct sql_visitor visitor = {&rows, NULL, row_print};
	fputs(",\n\"processes\": [", out);
	int has = sql_has(s, "LIBTRACE_PROCESS", "dropped");
	if (has > 0)
		has = sql_has(s, "LIBTRACE_RECEIPT", "tracer");
	int error = has < 0 ? has : has ? sql_run(s, statement, &visitor) : 0;
	fprintf(out, "], \"process_count\": %" PRIu64, rows.count);
	return error;
}

int page_report(FILE *out, const struct overview *o, struct stats_database *d,
	size_t timeline_bytes, const char *path)
{
	char api[SQL_API_NAME_BYTES];
	if (sql_api_name(&d->sql, api))
		*api = 0; /* tables of another shape; only a name is lost */
	fputs("{", out);
	overview_print(out, o);
	fprintf(out, ", \"api\": \"%s\", \"ranges\": \"%s\"", *api ? api : "CUDA",
		o->is_xspace ? "host events" : "NVTX");
	int error = processes_print(out, &d->sql);
	if (!error)
		error = tables_print(out, &d->sql);
	if (!error && path)
		error = path_print(out, &d->sql, path);
	if (!error)
		error = page_timeline(out, &d->sql, timeline_bytes);
	if (!error)
		stats_cut_note(&d->sql, d->file);
	if (!error)
		error = page_flame(out, &d->sql);
	fputs("}", out);
	return error;
}
