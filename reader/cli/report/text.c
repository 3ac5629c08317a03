/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c - `trace report --text`: a report for a terminal.
 */
#define _GNU_SOURCE
#include "reader/cli/report/text.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/base/print.h"
#include "reader/cli/base/output.h"
#include "reader/cli/report/costs.h"
#include "reader/cli/report/merging.h"
#include "reader/cli/report/overview.h"
#include "reader/cli/database/rows.h"

#define WIDTH_USUAL 100u /* width if the output is not a terminal */
#define WIDTH_LEAST 40u
#define NAME_WIDTH 26u /* minimum width of a text column whose texts are at least as wide */
#define ROWS_OF_TABLE 8u
#define ROWS_OF_FINDING 3u
#define COSTS_LEFT_OUT "Of OS functions that wait, only the longest is listed; the next is %s."

struct terminal {
	unsigned width;
	bool fits_tables; /* tables are fitted to the width; in a pipe nothing is cut */
	bool colors;
};

static struct terminal terminal_of(void)
{
	const char *no_color = getenv("NO_COLOR");
	unsigned width = cli_terminal_width(0);
	struct terminal t = {.width = width ? width : WIDTH_USUAL,
		.fits_tables = width || isatty(STDOUT_FILENO),
		.colors = isatty(STDOUT_FILENO) && !(no_color && *no_color)};
	t.width = t.width < WIDTH_LEAST ? WIDTH_LEAST : t.width;
	return t;
}

enum color { BOLD = 1, RED = 31, GREEN = 32, YELLOW = 33 };

static void colored(const struct terminal *t, enum color color, const char *text)
{
	if (t->colors)
		printf("\033[%dm%s\033[0m", color, text);
	else
		fputs(text, stdout);
}

/* Print words as lines; the lines after the first are indented. A word is never broken, so that
 * a path can be copied. */
static void wrapped(const struct terminal *t, unsigned indent, const char *text)
{
	unsigned column = indent;
	for (size_t bytes; *text; text += bytes + strspn(text + bytes, " ")) {
		bytes = strcspn(text, " ");
		if (column > indent && column + 1 + bytes > t->width) {
			printf("\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			putchar(' ');
			column++;
		}
		print_text(stdout, text, bytes);
		column += (unsigned)bytes;
	}
	putchar('\n');
}

static void overview_print(const struct terminal *t, const struct overview *o)
{
	for (size_t n = 0; n < o->count; n++) {
		printf("%-18s", o->rows[n].label);
		wrapped(t, 18, o->rows[n].value);
	}
	for (size_t n = 0; n < o->note_count; n++) {
		printf("%-18s", n ? "" : "notes");
		wrapped(t, 18, o->notes[n]);
	}
	if (o->notes_left_out)
		printf("%-18sand %" PRIu64 " more\n", "", o->notes_left_out);
}

static void verdict_print(const struct terminal *t, const struct overview *o)
{
	enum color color = o->complete ? GREEN : o->is_report ? RED : BOLD;
	putchar('\n');
	if (t->colors)
		printf("\033[%dm", color);
	printf("%-18s", "verdict:");
	wrapped(t, 18, o->verdict);
	if (t->colors)
		fputs("\033[0m", stdout);
}

/* ---- tables ---- */

/* The first rows of a report, as texts. */
struct rows {
	const struct sql_report *report;
	const struct sql_columns *columns;
	const char *title;
	struct costs *costs;                          /* rows are added to it */
	char *cells[ROWS_OF_TABLE * SQL_COLUMNS_MAX]; /* NULL = no value */
	uint64_t count, most;
};

static int row_add(void *user, const struct sql_value *values, int count)
{
	struct rows *r = user;
	if ((size_t)count != r->columns->count)
		return 0;
	costs_add(r->costs, r->report, r->title, r->columns, values);
	if (r->count++ >= r->most)
		return 0;
	for (int i = 0; i < count; i++) {
		char **cell = &r->cells[(r->count - 1) * SQL_COLUMNS_MAX + (size_t)i];
		const struct sql_value *v = &values[i];
		if (v->type == SQL_REAL && !r->columns->column[i].is_text &&
			asprintf(cell, "%.*f", sql_column_digits(&r->columns->column[i]), v->real) <
				0)
			*cell = NULL;
		else if (v->type != SQL_REAL && v->type != SQL_NULL && v->type != SQL_BLOB)
			*cell = strndup(v->text, v->bytes);
	}
	return 0;
}

static uint64_t rows_held(const struct rows *r)
{
	return r->count < r->most ? r->count : r->most;
}

/* Return the width of a column: that of its values with thousands separators, or of its
 * title. */
static unsigned column_width(const struct rows *r, size_t column)
{
	const struct table_column *c = &r->columns->column[column];
	const bool plain = c->is_text || table_is_id(c);
	size_t width = strlen(c->title);
	for (uint64_t n = 0; n < rows_held(r); n++) {
		const char *text = r->cells[n * SQL_COLUMNS_MAX + column];
		size_t digits = text ? strcspn(text, ".") : 0;
		size_t wide = text ? strlen(text) + (plain ? 0 : (digits - (digits > 0)) / 3) : 0;
		width = wide > width ? wide : width;
	}
	return (unsigned)width + 2; /* plus the gap between two columns */
}

/* Return the minimum width of a column: for texts a part of column_width(). */
static unsigned column_least(const struct rows *r, size_t column)
{
	unsigned width = column_width(r, column);
	return r->columns->column[column].is_text && width > NAME_WIDTH ? NAME_WIDTH : width;
}

/* Return the rank by which columns are dropped from a table that is too wide, lowest first: the
 * least informative, then numbers, then texts, from right to left. 0 = never dropped. */
static unsigned column_rank(const struct sql_columns *c, size_t column)
{
	static const char *const least[] = {"StdDev", "Med", "Min", "Max", "Avg", "Green Context",
		"Context ID", "Style", "Time"};
	const unsigned known = sizeof(least) / sizeof(least[0]);
	const struct table_column *it = &c->column[column];
	for (unsigned n = 0; n < known; n++)
		if (!strncmp(it->title, least[n], strlen(least[n])))
			return 1 + n;
	if (!column || column == c->count - 1)
		return column ? UINT_MAX : 0;
	return known + 1 + (unsigned)(c->count - column) + (it->is_text ? SQL_COLUMNS_MAX : 0);
}

/* Choose the columns to print. Returns their width, with texts at their minimum width. */
static unsigned columns_choose(const struct rows *r, unsigned most, bool *ret_gone)
{
	const struct sql_columns *c = r->columns;
	unsigned width = 1;
	for (size_t i = 0; i < c->count; i++)
		width += column_least(r, i);
	while (width > most) {
		size_t next = c->count;
		for (size_t i = 0; i < c->count; i++)
			if (!ret_gone[i] && column_rank(c, i) &&
				(next == c->count || column_rank(c, i) < column_rank(c, next)))
				next = i;
		if (next == c->count)
			break;
		ret_gone[next] = true;
		width -= column_least(r, next);
	}
	return width;
}

static int rows_print(const struct terminal *t, const struct rows *r)
{
	struct table_column columns[SQL_COLUMNS_MAX];
	struct table table;
	bool gone[SQL_COLUMNS_MAX] = {false};
	size_t kept = 0, texts = 0;
	unsigned width = columns_choose(r, t->fits_tables ? t->width : UINT_MAX, gone);
	for (size_t i = 0; i < r->columns->count; i++)
		texts += !gone[i] && r->columns->column[i].is_text;
	unsigned more = texts && width < t->width ? (t->width - width) / (unsigned)texts : 0;
	for (size_t i = 0; i < r->columns->count; i++)
		if (!gone[i]) {
			columns[kept] = r->columns->column[i];
			columns[kept++].most = t->fits_tables && r->columns->column[i].is_text
				? NAME_WIDTH - 2 + more
				: 0;
		}
	table_init(&table, columns, kept);
	for (uint64_t n = 0; n < rows_held(r); n++)
		for (size_t i = 0; i < r->columns->count; i++) {
			const char *text = r->cells[n * SQL_COLUMNS_MAX + i];
			if (!gone[i] && text)
				table_cell(&table, "%s", text);
			else if (!gone[i])
				table_null(&table);
		}
	int error = table_print(&table, TABLE_ALIGNED, stdout);
	table_release(&table);
	return error;
}

/* Print a report with its title in `color`, if it has rows, and add them to the costs. */
static int report_print(const struct terminal *t, struct sql *s, const struct sql_report *report,
	uint64_t most, enum color color, struct costs *costs)
{
	struct sql_columns columns;
	char *title = sql_report_title(s, report), *advice = sql_rule_advice(s, report);
	struct rows r = {.report = report,
		.columns = &columns,
		.title = title ? title : report->name,
		.costs = costs,
		.most = most};
	const struct sql_visitor visitor = {&r, NULL, row_add};
	struct merging merging = {0};
	bool skipped;
	int error = sql_columns_read(&columns, report);
	if (!error)
		error = merging_choose(s, report, &merging);
	if (!error)
		error = sql_report_run(
			s, report, merging.names ? "merge" : NULL, &visitor, &skipped);
	if (!error && r.count) {
		putchar('\n');
		colored(t, color, r.title);
		putchar('\n');
		if (merging.names)
			printf("numbers in names are replaced by #, which merges %" PRId64
			       " names into %" PRId64 "\n",
				merging.names, merging.merged);
		if (advice && *advice)
			wrapped(t, 0, advice);
		error = rows_print(t, &r);
		if (r.count > most)
			printf(" and %" PRIu64 " more; see 'trace %s -r %s%s'\n", r.count - most,
				report->is_rule ? "analyze" : "stats", report->name,
				merging.names ? ":merge" : "");
	}
	for (size_t i = 0; i < sizeof(r.cells) / sizeof(r.cells[0]); i++)
		free(r.cells[i]);
	sql_columns_release(&columns);
	free(advice);
	free(title);
	return error;
}

/* Return whether this is a rule of `trace analyze` for warnings or errors. */
static bool is_warning(const struct sql_report *r)
{
	char *severity = report_header(r, "severity");
	bool warns = severity && strcmp(severity, "info") != 0;
	free(severity);
	return warns;
}

/* Print a report, or a note if the database lacks a column for it; then the other reports are
 * still printed. */
static int table_or_cause(const struct terminal *t, struct sql *s, const struct sql_report *r,
	uint64_t most, enum color color, struct costs *costs)
{
	int error = report_print(t, s, r, most, color, costs);
	if (error != -ENODATA)
		return error;
	cli_note("%s is left out: %s", r->name, s->cause);
	return 0;
}

static void costs_print(const struct terminal *t, const struct costs *costs)
{
	const struct cost *cost;
	for (size_t n = 0; n < COSTS_SHOWN && (cost = costs_at(costs, n)); n++) {
		char *text = NULL;
		size_t bytes;
		FILE *memory = open_memstream(&text, &bytes);
		if (!memory)
			return;
		fprintf(memory, "%s: ", cost->name ? cost->name : "?");
		cost_print(memory, cost);
		fprintf(memory, " (%s)", cost->title);
		fclose(memory);
		printf("%s%-18s", n ? "" : "\n", n ? "" : "largest costs:");
		wrapped(t, 18, text ? text : "");
		free(text);
	}
	if ((cost = costs_left_out(costs, 0))) {
		char *text = NULL;
		if (asprintf(&text, COSTS_LEFT_OUT, cost->name ? cost->name : "?") < 0)
			return;
		printf("%-18s", "");
		wrapped(t, 18, text);
		free(text);
	}
}

static int tables_print(const struct terminal *t, struct sql *s, struct costs *costs)
{
	const struct sql_report *r;
	int error = 0;
	for (size_t i = 0; !error && (r = stats_usual_at(i)); i++)
		error = table_or_cause(t, s, r, ROWS_OF_TABLE, BOLD, costs);
	for (size_t i = 0; !error && (r = report_at(i)); i++)
		if (r->is_rule && is_warning(r))
			error = table_or_cause(t, s, r, ROWS_OF_FINDING, YELLOW, costs);
	return error;
}

int report_text_print(const char *file, const struct stats_form *form)
{
	const struct terminal t = terminal_of();
	struct overview overview;
	struct stats_database database;
	int status = overview_gather(&overview, file, form->no_wait);
	if (!status) {
		status = stats_database_open(&database, file, form, form->no_symbols);
		int error = status ? 0 : overview_add_database(&overview, &database.sql);
		overview_print(&t, &overview);
		if (error) {
			status = sql_file_failed(&database.sql, file, "read its facts", error);
			stats_database_close(&database);
		}
	}
	if (!status) {
		struct costs costs = {0};
		int error = tables_print(&t, &database.sql, &costs);
		status = error ? sql_file_failed(&database.sql, file, "compute the tables", error)
			       : database.status;
		stats_database_close(&database);
		costs_print(&t, &costs);
		costs_release(&costs);
		verdict_print(&t, &overview);
	}
	overview_release(&overview);
	return status;
}
