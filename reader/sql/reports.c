/* SPDX-License-Identifier: Apache-2.0 */
/* reports.c - list of the reports and rules, and their headers. */
#define _GNU_SOURCE
#include "reader/sql/reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
