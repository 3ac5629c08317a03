/* SPDX-License-Identifier: Apache-2.0 */
/* views.c - temporary views with the same schema for databases of all generations of nsys. */
#define _GNU_SOURCE
#include "reader/sql/views.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/words.h"
#include "reader/sql/reports.h"

enum view_time { NONE, POINT, SPAN, NVTX };

static const struct {
	const char *table;
	enum view_time time;
	const char *columns;
} views[] = {
#define VIEW(table, time, columns) {#table, time, columns},
#define LABELS(table)
#include "reader/sql/views.def"
};

static const char *const labels[] = {
#define VIEW(table, time, columns)
#define LABELS(table) #table,
#include "reader/sql/views.def"
};

#define LABELS_MAX 32 /* number of ids in the view of a missing ENUM_* table */

/* Columns without which a figure would be wrong: times, names, sizes, kinds, ids. */
static const char essential[] =
	"start end globalTid globalPid deviceId correlationId nameId demangledName bytes copyKind "
	"eventType";

static int process_take(void *user, const struct sql_value *values, int count)
{
	int64_t *process = user;
	(void)count;
	*process = values[0].type == SQL_INTEGER && values[0].integer == values[1].integer
		? values[0].integer
		: 0;
	return 0;
}

/* Find the process of the API calls, if all are calls of one process; *ret_process 0 = not known.
 * Returns 0 or a negative errno. */
static int process_find(struct sql *s, int64_t *ret_process)
{
	const struct sql_visitor visitor = {ret_process, NULL, process_take};
	int has = sql_has(s, "CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid");
	*ret_process = 0;
	return has <= 0 ? has
			: sql_run(s,
				  "SELECT min(globalTid & ~0xffffff), max(globalTid & ~0xffffff) "
				  "FROM main.CUPTI_ACTIVITY_KIND_RUNTIME",
				  &visitor);
}

/* Write a replacement for a column that the table lacks: the process for globalPid, if there
 * is only one; else, for an essential column, a call that fails when it is evaluated; else NULL.
 * Returns 0 or a negative errno. */
static int missing_write(struct sql *s, FILE *out, const char *table, const char *column)
{
	int64_t process = 0;
	int error = strcmp(column, "globalPid") != 0 ? 0 : process_find(s, &process);
	if (process)
		fprintf(out, "%lld", (long long)process);
	else if (words_have(essential, column))
		fprintf(out, "missing_column('%s', '%s')", table, column);
	else
		fputs("NULL", out);
	return error;
}

/* Write the value of a column: the column of this name, the column of the older name, or a
 * replacement. `word` is "a" or "a=b" (b: the older name). Returns 0 or a negative errno. */
static int value_write(struct sql *s, FILE *out, const char *table, const char *word, int bytes)
{
	char name[64], older[64];
	int length = (int)strcspn(word, "= ");
	if (length > bytes)
		length = bytes;
	snprintf(name, sizeof(name), "%.*s", length, word);
	snprintf(older, sizeof(older), "%.*s", length < bytes ? bytes - length - 1 : 0,
		word + length + 1);
	int has = sql_has(s, table, name);
	if (has > 0)
		fprintf(out, "\"%s\"", name);
	else if (!has && *older && (has = sql_has(s, table, older)) > 0)
		fprintf(out, "\"%s\"", older);
	else if (!has)
		has = missing_write(s, out, table, name);
	return has < 0 ? has : 0;
}

/* Return the number of bytes of a column's name. */
static int name_bytes(const char *word)
{
	return (int)strcspn(word, "= @");
}

/* Write the number of a process's device as that of its GPU. Returns 0 or a negative errno. */
static int device_write(struct sql *s, FILE *out, const char *table, const char *word, int bytes)
{
	const int by_pid = sql_has(s, table, "globalPid");
	const int by_tid = by_pid ? by_pid : sql_has(s, table, "globalTid");
	if (by_tid <= 0 || !s->gpus_differ)
		return by_tid < 0 ? by_tid : value_write(s, out, table, word, bytes);
	fprintf(out,
		"coalesce((SELECT gpu FROM temp.PROCESS_DEVICES WHERE process = %s >> 24 AND "
		"device = ",
		by_pid ? "globalPid" : "globalTid");
	int error = value_write(s, out, table, word, bytes);
	fputs("), ", out);
	error = error ? error : value_write(s, out, table, word, bytes);
	fputs(")", out);
	return error;
}

/* Write a column of the view. Returns 0 or a negative errno. */
static int column_write(struct sql *s, FILE *out, const char *table, const char *word, int bytes)
{
	if (!strncmp(word, "rowid", (size_t)bytes) && bytes == 5)
		return fputs("rowid AS id", out) < 0 ? -ENOMEM : 0;
	int error = word[bytes - 1] == '@' ? device_write(s, out, table, word, bytes - 1)
					   : value_write(s, out, table, word, bytes);
	fprintf(out, " AS \"%.*s\"", name_bytes(word), word);
	return error;
}

/* Write the window as a condition. Names of threads and domains are not events, so they are always
 * visible. Returns 0 or a negative errno. */
static int condition_write(struct sql *s, FILE *out, size_t index, const struct sql_window *w)
{
	const char *columns = views[index].columns, *table = views[index].table;
	bool is_nvtx = views[index].time == NVTX;
	long long start = w->start_ns, end = w->end_ns;
	const char *id = words_have(columns, "globalTid") ? "globalTid"
		: words_have(columns, "globalPid")        ? "globalPid"
							  : NULL;
	int error = 0;
	if (views[index].time == NONE)
		return 0;
	fputs(is_nvtx ? " WHERE eventType NOT IN (34, 59, 60, 70, 71) OR 1" : " WHERE 1", out);
	if (!w->all && views[index].time == POINT)
		fprintf(out, " AND start >= %lld AND start < %lld", start, end);
	else if (!w->all)
		fprintf(out, " AND coalesce(\"end\", start + 1) > %lld AND start < %lld", start,
			end);
	if (id && w->pid) {
		fputs(" AND ", out);
		error = value_write(s, out, table, id, (int)strlen(id));
		fprintf(out, " >> 24 & 16777215 = %u", w->pid);
	}
	if (id && w->tid && id[6] == 'T')
		fprintf(out, " AND %s & 16777215 = %u", id, w->tid);
	return error;
}

static int text_run(struct sql *s, FILE *out, char **text)
{
	bool complete = !ferror(out);
	int error = fclose(out) || !complete ? -ENOMEM : sql_run(s, *text, NULL);
	free(*text);
	return error;
}

static int view_make(struct sql *s, size_t index, const struct sql_window *window)
{
	const char *table = views[index].table, *word = views[index].columns;
	char *text = NULL;
	size_t size, bytes;
	FILE *out = open_memstream(&text, &size);
	int error = 0, has = sql_has(s, table, NULL);
	if (!out)
		return -ENOMEM;
	fprintf(out, "DROP VIEW IF EXISTS temp.\"%s\"; CREATE TEMP VIEW \"%s\" AS SELECT ", table,
		table);
	for (bool first = true; !error && has >= 0 && *word; first = false) {
		bytes = strcspn(word, " ");
		fputs(first ? "" : ", ", out);
		if (has)
			error = column_write(s, out, table, word, (int)bytes);
		else
			fprintf(out, "NULL AS \"%.*s\"",
				bytes == 5 && !strncmp(word, "rowid", 5) ? 2 : name_bytes(word),
				bytes == 5 && !strncmp(word, "rowid", 5) ? "id" : word);
		word += bytes + strspn(word + bytes, " ");
	}
	if (has > 0) {
		fprintf(out, " FROM main.\"%s\"", table);
		error = error ? error : condition_write(s, out, index, window);
	} else {
		fputs(" WHERE 0", out);
	}
	if (error || has < 0) {
		fclose(out);
		free(text);
		return error ? error : has;
	}
	return text_run(s, out, &text);
}

static int labels_make(struct sql *s, const char *table)
{
	char *text = NULL;
	size_t size;
	int has = sql_has(s, table, NULL);
	FILE *out = has < 0 ? NULL : open_memstream(&text, &size);
	if (!out)
		return has < 0 ? has : -ENOMEM;
	fprintf(out, "CREATE TEMP VIEW \"%s\" AS ", table);
	if (has)
		fprintf(out, "SELECT id, label FROM main.\"%s\"", table);
	for (int id = 0; !has && id < LABELS_MAX; id++)
		fprintf(out, "%sSELECT %d AS id, enum_label('%s', %d) AS label",
			id ? " UNION ALL " : "", id, table, id);
	return text_run(s, out, &text);
}

int views_make(struct sql *s)
{
	const struct sql_window all = {.all = true};
	int error = views_window(s, &all);
	for (size_t i = 0; !error && i < sizeof(labels) / sizeof(labels[0]); i++)
		error = labels_make(s, labels[i]);
	return error ? error : sql_run(s, report_shared("common"), NULL);
}

static int differ(void *user, const struct sql_value *values, int count)
{
	(void)values, (void)count;
	*(bool *)user = true;
	return 0;
}

int views_number_gpus(struct sql *s)
{
	static const char query[] =
		"SELECT 1 FROM temp.PROCESS_DEVICES WHERE gpu <> device LIMIT 1";
	const struct sql_visitor visitor = {&s->gpus_differ, NULL, differ};
	const struct sql_window all = {.all = true};
	int error = sql_run(s, report_shared("devices"), NULL);
	if (!error)
		error = sql_run(s, query, &visitor);
	return error || !s->gpus_differ ? error : views_window(s, &all);
}

int views_window(struct sql *s, const struct sql_window *window)
{
	int error = 0;
	for (size_t i = 0; !error && i < sizeof(views) / sizeof(views[0]); i++)
		error = view_make(s, i, window);
	return error;
}

static int view_drop(struct sql *s, const char *table)
{
	char text[128];
	snprintf(text, sizeof(text), "DROP VIEW IF EXISTS temp.\"%s\"", table);
	return sql_run(s, text, NULL);
}

int views_drop(struct sql *s)
{
	int error = 0;
	for (size_t i = 0; !error && i < sizeof(views) / sizeof(views[0]); i++)
		error = view_drop(s, views[i].table);
	for (size_t i = 0; !error && i < sizeof(labels) / sizeof(labels[0]); i++)
		error = view_drop(s, labels[i]);
	return error;
}
