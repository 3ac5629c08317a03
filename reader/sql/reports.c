/* SPDX-License-Identifier: Apache-2.0 */
/* reports.c - list of the reports and rules, and their headers. */
#define _GNU_SOURCE
#include "reader/sql/reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/words.h"

enum folder { reports, rules, shared };

static const struct {
	enum folder folder;
	struct sql_report report;
} files[] = {
#define SQL_FILE(folder, name, text) {folder, {#name, folder == rules, text}},
#include "reports_sql.h"
};
#define FILES (sizeof(files) / sizeof(files[0]))

const struct sql_report *report_at(size_t n)
{
	for (size_t i = 0; i < FILES; i++)
		if (files[i].folder != shared && !n--)
			return &files[i].report;
	return NULL;
}

/* Return true if the report had this name in older versions of nsys. */
static bool was_called(const struct sql_report *r, const char *name, size_t bytes)
{
	char *was = report_header(r, "was");
	bool same = was && *was && strlen(was) == bytes && !memcmp(was, name, bytes);
	free(was);
	return same;
}

const struct sql_report *report_find(const char *name, size_t bytes, bool is_rule)
{
	const struct sql_report *r;
	for (size_t i = 0; (r = report_at(i)); i++)
		if (r->is_rule == is_rule &&
			((strlen(r->name) == bytes && !memcmp(r->name, name, bytes)) ||
				was_called(r, name, bytes)))
			return r;
	return NULL;
}

const char *report_shared(const char *name)
{
	for (size_t i = 0; i < FILES; i++)
		if (files[i].folder == shared && !strcmp(files[i].report.name, name))
			return files[i].report.text;
	return NULL;
}

char *report_title(const struct sql_report *r)
{
	return strndup(r->text + 3, strcspn(r->text, "\n") - 3);
}

char *report_header(const struct sql_report *r, const char *key)
{
	char *value = NULL;
	size_t size, length = strlen(key);
	FILE *out = open_memstream(&value, &size);
	if (!out)
		return NULL;
	for (const char *line = r->text; !strncmp(line, "--", 2); line += strcspn(line, "\n") + 1) {
		const char *at = line + 2 + (line[2] == ' ');
		if (strncmp(at, key, length) || at[length] != ':')
			continue;
		at += length + 1;
		at += *at == ' ';
		fprintf(out, "%s%.*s", ftell(out) > 0 ? " " : "", (int)strcspn(at, "\n"), at);
	}
	if (fclose(out)) {
		free(value);
		return NULL;
	}
	return value;
}

/* ---- the SQL that reports run ---- */

#define DEFINITION "\nCREATE TEMP "
#define DEFINITIONS_MAX 64u

/* What the program itself reads to print reports: titles, causes of missing samples. */
static const char read_always[] = "LIBTRACE_CODEXL_CALL LIBTRACE_CPU_RECEIPT NVTX_EVENTS ";

/* Append the shared files of a report. */
static bool before_put(FILE *out, const struct sql_report *r)
{
	char *before = report_header(r, "before"), *rest = NULL;
	for (char *name = before ? strtok_r(before, " ", &rest) : NULL; name;
		name = strtok_r(NULL, " ", &rest)) {
		const char *text = report_shared(name);
		fputs(text ? text : "", out);
	}
	free(before);
	return before != NULL;
}

/* Append the files that name kernels by their NVTX ranges, if an argument of the report asks for
 * that. */
static void nvtx_names_put(FILE *out, const char *report, size_t bytes)
{
	if (!memmem(report, bytes, ":nvtx-name", strlen(":nvtx-name")))
		return;
	fputs(report_shared("launch_calls"), out);
	fputs(report_shared("nvtx_launches"), out);
}

/* Append the definition at `at` if the text before it names it. */
static bool definition_put(FILE *out, char *const *text, const char *at)
{
	char kind[8], name[64];
	const char *next = strstr(at + 1, DEFINITION);
	if (sscanf(at + strlen(DEFINITION), "%7s %63[A-Z_]", kind, name) != 2 || fflush(out) ||
		!words_have(*text, name))
		return false;
	fprintf(out, "%.*s", (int)(next ? (size_t)(next - at) : strlen(at)), at);
	return true;
}

/* Append the definitions of "common" that the text names, also by other definitions. */
static void definitions_put(FILE *out, char *const *text)
{
	bool has[DEFINITIONS_MAX] = {false}, more = true;
	while (more) {
		size_t n = 0;
		more = false;
		for (const char *at = strstr(report_shared("common"), DEFINITION);
			at && n < DEFINITIONS_MAX; at = strstr(at + 1, DEFINITION), n++)
			if (!has[n])
				more |= has[n] = definition_put(out, text, at);
	}
}

char *reports_sql(const char *list)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool whole = out != NULL;
	if (out)
		fputs(read_always, out);
	for (const char *at = list; whole && *at; at += *at == ',') {
		const size_t bytes = strcspn(at, ",");
		const struct sql_report *r = report_find(at, strcspn(at, ",:"), false);
		if (r)
			fputs(r->text, out);
		whole = !r || before_put(out, r);
		nvtx_names_put(out, at, bytes);
		at += bytes;
	}
	if (whole)
		definitions_put(out, &text);
	if (out && (fclose(out) || !whole)) {
		free(text);
		return NULL;
	}
	return text;
}
