/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.c - tables of rows of SQL statements.
 */
#define _GNU_SOURCE
#include "reader/cli/database/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CUDA "CUDA"

#define TEXT_MAX 100 /* characters of a text in the aligned form, as in nsys */

struct printing {
	struct table table;
	struct table_column *columns;
	const struct sql_form *form;
	void (*heading)(void *user); /* NULL = none, or already printed */
	void *user;
	FILE *out;
	uint64_t rows;
};

static void blob_cell(struct table *t, const struct sql_value *v)
{
	const unsigned char *bytes = v->blob;
	char *text = malloc(2 * v->bytes + 4), *at = text;
	t->broken |= !text;
	if (!text)
		return;
	at += sprintf(at, "X'");
	for (size_t i = 0; i < v->bytes; i++)
		at += sprintf(at, "%02X", bytes[i]);
	strcpy(at, "'");
	table_text(t, text);
	free(text);
}

static void value_cell(struct table *t, const struct sql_value *v)
{
	if (v->type == SQL_NULL)
		table_null(t);
	else if (v->type == SQL_BLOB)
		blob_cell(t, v);
	else
		table_text(t, v->text);
}

/* ---- statements of the user ---- */

static int any_columns(void *user, const char *const *names, int count)
{
	struct printing *p = user;
	p->columns = calloc((size_t)count, sizeof(*p->columns));
	for (int i = 0; p->columns && i < count; i++) {
		p->columns[i] = (struct table_column){strdup(names[i]), false, TEXT_MAX, false};
		p->table.broken |= !p->columns[i].title;
	}
	table_init(&p->table, p->columns, (size_t)count);
	return p->columns && !p->table.broken ? 0 : -ENOMEM;
}

static int any_row(void *user, const struct sql_value *values, int count)
{
	struct printing *p = user;
	for (int i = 0; i < count; i++) {
		p->columns[i].is_text |= values[i].type == SQL_TEXT || values[i].type == SQL_BLOB;
		value_cell(&p->table, &values[i]);
	}
	p->rows++;
	return ferror(p->out) ? -EPIPE : table_flow(&p->table, p->form->format, p->out);
}

int sql_rows_print(struct sql *s, const char *text, enum table_format format, FILE *out)
{
	const struct sql_form form = {.format = format};
	struct printing p = {.form = &form, .out = out};
	const struct sql_visitor visitor = {&p, any_columns, any_row};
	int error = sql_query(s, text, &visitor);
	if (!error && p.table.column_count)
		error = table_print(&p.table, format, out);
	for (size_t i = 0; p.columns && i < p.table.column_count; i++)
		free((char *)p.columns[i].title);
	table_release(&p.table);
	free(p.columns);
	return error;
}

/* ---- reports ---- */

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), bytes = strlen(end);
	return length >= bytes && !strcmp(text + length - bytes, end);
}

int sql_column_digits(const struct table_column *column)
{
	if (ends_in(column->title, "FLOP)") || ends_in(column->title, "FLOP/s)"))
		return 6;
	return ends_in(column->title, "(MB)") || ends_in(column->title, "(MB/s)") ? 3 : 1;
}

static void report_cell(
	struct table *t, const struct table_column *column, const struct sql_value *v)
{
	if (v->type != SQL_REAL || column->is_text)
		value_cell(t, v);
	else
		table_cell(t, "%.*f", sql_column_digits(column), v->real);
}

static int report_row(void *user, const struct sql_value *values, int count)
{
	struct printing *p = user;
	if ((size_t)count != p->table.column_count)
		return 0; /* a row of an earlier statement */
	if (p->form->rows_most && p->rows++ >= p->form->rows_most)
		return 0;
	for (int i = 0; i < count; i++)
		report_cell(&p->table, &p->columns[i], &values[i]);
	if (p->heading)
		p->heading(p->user);
	p->heading = NULL;
	p->rows += !p->form->rows_most;
	return ferror(p->out) ? -EPIPE : table_flow(&p->table, p->form->format, p->out);
}

/* The header has the form "Time (%), Name text"; the text is split in place. */
int sql_columns_read(struct sql_columns *c, const struct sql_report *r)
{
	*c = (struct sql_columns){.text = report_header(r, "columns")};
	for (char *at = c->text ? strtok(c->text, ",") : NULL; at && c->count < SQL_COLUMNS_MAX;
		at = strtok(NULL, ",")) {
		at += strspn(at, " ");
		size_t length = strlen(at);
		while (length && at[length - 1] == ' ')
			at[--length] = 0;
		bool is_text = ends_in(at, " text");
		if (is_text)
			at[length - 5] = 0;
		c->column[c->count++] =
			(struct table_column){at, is_text, is_text ? TEXT_MAX : 0, false};
	}
	return c->text ? 0 : -ENOMEM;
}

void sql_columns_release(struct sql_columns *c)
{
	free(c->text);
}

int sql_needs_met(struct sql *s, const char *tables)
{
	char name[96];
	int has = !*tables;
	for (size_t bytes; *tables; tables += bytes + strspn(tables + bytes, " ")) {
		bytes = strcspn(tables, " ");
		bool is_barred = *tables == '!';
		if (has && !is_barred)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)bytes - is_barred, tables + is_barred);
		int rows = sql_has_rows(s, name);
		if (rows < 0 || (is_barred && rows))
			return rows < 0 ? rows : 0;
		has |= !is_barred && rows;
	}
	return has;
}

static int api_take(void *user, const struct sql_value *v, int count)
{
	char *name = user;
	if (count == 1 && v[0].type == SQL_TEXT)
		snprintf(name, SQL_API_NAME_BYTES, "%s", v[0].text);
	return 0;
}

int sql_api_name(struct sql *s, char *ret_name)
{
	/* if there are CUDA calls, EXISTS stops at the first */
	static const char statement[] =
		"SELECT CASE WHEN EXISTS (SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r JOIN "
		"StringIds AS s ON s.id = r.nameId WHERE s.value GLOB 'cu[A-Z]*' OR s.value GLOB "
		"'cuda[A-Z]*') THEN NULL "
		"WHEN EXISTS (SELECT 1 FROM StringIds WHERE value GLOB 'hip[A-Z]*') THEN 'HIP' "
		"ELSE (SELECT CASE WHEN s.value GLOB 'cl[A-Z]*' THEN 'OpenCL' WHEN s.value GLOB "
		"'hsa_*' THEN 'HSA' END FROM LIBTRACE_CODEXL_CALL AS c JOIN StringIds AS s ON "
		"s.id = c.nameId LIMIT 1) END";
	const struct sql_visitor visitor = {ret_name, NULL, api_take};
	*ret_name = 0;
	return sql_run(s, statement, &visitor);
}

char *sql_report_title(struct sql *s, const struct sql_report *r)
{
	char api[SQL_API_NAME_BYTES], *title = report_title(r), *all = NULL;
	const char *at = title ? strstr(title, CUDA) : NULL;
	if (!at || sql_api_name(s, api) || !*api)
		return title;
	if (asprintf(&all, "%.*s%s%s", (int)(at - title), title, api, at + strlen(CUDA)) < 0)
		all = NULL;
	free(title);
	return all;
}

char *sql_rule_advice(struct sql *s, const struct sql_report *r)
{
	char *advice = report_header(r, "advice"), *cuda = report_header(r, "cuda_advice");
	char *both = NULL;
	if (!advice || !cuda || !*cuda || sql_has_rows(s, "CUPTI_ACTIVITY_KIND_RUNTIME") <= 0) {
		free(cuda);
		return advice;
	}
	if (asprintf(&both, "%s %s", advice, cuda) < 0)
		both = NULL;
	free(cuda);
	free(advice);
	return both;
}

static int shared_run(struct sql *s, const char *name)
{
	const char *text = report_shared(name);
	return !text ? -ENOENT : sql_run(s, text, NULL);
}

/* Run the shared files that the report requires: `before` names them. */
static int before_run(struct sql *s, const char *before, const char *arguments)
{
	char name[64];
	int error = 0;
	for (size_t bytes; !error && *before; before += bytes + strspn(before + bytes, " ")) {
		bytes = strcspn(before, " ");
		snprintf(name, sizeof(name), "%.*s", (int)bytes, before);
		error = shared_run(s, name);
	}
	if (error || !arguments || !strstr(arguments, "nvtx-name"))
		return error;
	error = shared_run(s, "launch_calls");
	return error ? error : shared_run(s, "nvtx_launches");
}

int sql_report_run(struct sql *s, const struct sql_report *r, const char *arguments,
	const struct sql_visitor *visitor, bool *ret_skipped)
{
	char *needs = report_header(r, "needs"), *before = report_header(r, "before");
	int error = needs && before ? 0 : -ENOMEM, met = error ? 0 : sql_needs_met(s, needs);
	*ret_skipped = met == 0;
	s->arguments = arguments;
	if (!error && met < 0)
		error = met;
	if (!error && met)
		error = before_run(s, before, arguments);
	if (!error && met)
		error = sql_run(s, r->text, visitor);
	s->arguments = NULL;
	free(needs);
	free(before);
	return error;
}

int sql_report_print(struct sql *s, const struct sql_report *r, const char *arguments,
	const struct sql_form *form, void (*heading)(void *user), void *user, FILE *out,
	struct sql_outcome *ret_outcome)
{
	struct sql_columns columns;
	int error = sql_columns_read(&columns, r);
	struct printing p = {.columns = columns.column,
		.form = form,
		.heading = form->format == TABLE_ALIGNED ? heading : NULL,
		.user = user,
		.out = out};
	const struct sql_visitor visitor = {&p, NULL, report_row};
	bool skipped = false;
	table_init(&p.table, columns.column, columns.count);
	p.table.time = form->time;
	p.table.width = form->width;
	for (size_t i = 0; i < columns.count; i++)
		s->numbers |= columns.column[i].is_text ? 0 : UINT64_C(1) << i;
	if (!error)
		error = sql_report_run(s, r, arguments, &visitor, &skipped);
	s->numbers = 0;
	if (!error && (p.rows || form->format != TABLE_ALIGNED))
		error = table_print(&p.table, form->format, out);
	*ret_outcome = (struct sql_outcome){p.rows, skipped};
	table_release(&p.table);
	sql_columns_release(&columns);
	return error;
}
