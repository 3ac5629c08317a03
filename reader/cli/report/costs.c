/* SPDX-License-Identifier: Apache-2.0 */
/*
 * costs.c - the largest costs of a report.
 */
#include "reader/cli/report/costs.h"

#include <stdlib.h>
#include <string.h>

#include "reader/base/print.h"
#include "reader/report/osrt_class.h"

static bool is_work(const char *report)
{
	static const char *const names[] = {"osrt_sum", "cuda_api_sum", "cuda_gpu_kern_sum",
		"cuda_gpu_mem_time_sum", "cpu_by_function", "openmp_sum", "mpi_event_sum",
		"openacc_sum", "syscall_sum", "function_sum"};
	size_t i = 0;
	while (i < sizeof(names) / sizeof(names[0]) && strcmp(names[i], report) != 0)
		i++;
	return i < sizeof(names) / sizeof(names[0]);
}

/* Return the index of the first column of numbers whose title begins with one of the words, which
 * a NULL ends; -1 = none. */
static int column_of(const struct sql_columns *c, const char *const *words)
{
	for (size_t i = 0; i < c->count; i++)
		for (const char *const *word = words; !c->column[i].is_text && *word; word++)
			if (!strncmp(c->column[i].title, *word, strlen(*word)))
				return (int)i;
	return -1;
}

/* Return whether the row of OpenMP is a lifetime, not a cost. */
static bool is_lifetime(const char *report, const char *name)
{
	static const char thread[] = "Thread";
	const size_t length = strlen(name);
	return !strcmp(report, "openmp_sum") &&
		(!strcmp(name, "Task") || !strcmp(name, "Implicit Task") ||
			(length >= strlen(thread) &&
				!strcmp(name + length - strlen(thread), thread)));
}

/* Return whether another report has the row, too: calls of MPI are functions of a library. */
static bool is_repeated(const char *report, const char *name)
{
	return !strcmp(report, "function_sum") && !strncmp(name, "MPI_", strlen("MPI_"));
}

/* Return the index of the column of names: "Name", else the last one of texts; -1 = none. */
static int name_column(const struct sql_columns *c)
{
	int i = (int)c->count - 1;
	for (size_t n = 0; n < c->count; n++)
		if (c->column[n].is_text && !strcmp(c->column[n].title, "Name"))
			return (int)n;
	while (i >= 0 && !c->column[i].is_text)
		i--;
	return i;
}

static void cost_release(struct cost *cost)
{
	free(cost->name);
	free(cost->title);
	*cost = (struct cost){0};
}

/* Insert a cost into `count` sorted costs, if it is large enough. */
static void cost_put(struct cost *list, size_t count, const struct cost *new_cost)
{
	size_t at = count;
	while (at && new_cost->ns > list[at - 1].ns)
		at--;
	if (at == count || new_cost->ns <= 0)
		return;
	cost_release(&list[count - 1]);
	memmove(&list[at + 1], &list[at], (count - 1 - at) * sizeof(*list));
	list[at] = *new_cost;
	list[at].name = strdup(new_cost->name);
	list[at].title = strdup(new_cost->title);
}

void costs_add(struct costs *c, const struct sql_report *report, const char *title,
	const struct sql_columns *columns, const struct sql_value *row)
{
	static const char *const totals[] = {"Total Time", "Self CPU Time", NULL},
				 *const counts[] = {
					 "Num Calls", "Instances", "Count", "Self Samples", NULL};
	const int total = column_of(columns, totals), count = column_of(columns, counts),
		  name = name_column(columns);
	const bool is_range = !strcmp(report->name, "nvtx_sum");
	if (total < 0 || name < 0 || row[name].type != SQL_TEXT ||
		(!is_range && !is_work(report->name)) ||
		is_lifetime(report->name, row[name].text) ||
		is_repeated(report->name, row[name].text))
		return;
	struct cost cost = {.name = (char *)(uintptr_t)row[name].text,
		.title = (char *)(uintptr_t)title,
		.table = report->name,
		.ns = row[total].integer,
		.count = count < 0 ? -1 : row[count].integer};
	const bool is_call = !strcmp(report->name, "osrt_sum");
	const char *kind = is_call ? osrt_class(cost.name) : "";
	cost.waits = !strcmp(kind, "wait");
	cost.may_wait = !strcmp(kind, "io") || !strcmp(kind, "net") ||
		!strcmp(report->name, "mpi_event_sum");
	c->sampled |= !strcmp(report->name, "cpu_by_function") && cost.ns > 0;
	if (cost.waits)
		cost_put(c->waits, COSTS_WAITS, &cost);
	else
		cost_put(is_range ? c->ranges : c->work, COSTS_SHOWN, &cost);
	if (!is_range && !is_call)
		cost_put(c->computed, COSTS_SHOWN, &cost);
}

const struct cost *costs_at(const struct costs *c, size_t n)
{
	const struct cost *wait = &c->waits[0];
	const struct cost *work = c->sampled ? c->computed : c->work;
	const bool any = wait->title || work[0].title;
	const struct cost *list = any ? work : c->ranges;
	size_t before = 0; /* rows of work that are larger than the wait */
	while (wait->title && before < COSTS_SHOWN && work[before].ns >= wait->ns)
		before++;
	if (wait->title && n >= before)
		return n == before ? wait : list[n - 1].title ? &list[n - 1] : NULL;
	return list[n].title ? &list[n] : NULL;
}

const struct cost *costs_left_out(const struct costs *c, size_t n)
{
	const struct cost *last = costs_at(c, COSTS_SHOWN - 1),
			  *wait = n + 1 < COSTS_WAITS ? &c->waits[n + 1] : NULL;
	return wait && wait->title && (!last || wait->ns > last->ns) ? wait : NULL;
}

void costs_release(struct costs *c)
{
	for (size_t i = 0; i < COSTS_SHOWN; i++) {
		cost_release(&c->work[i]);
		cost_release(&c->computed[i]);
		cost_release(&c->ranges[i]);
	}
	for (size_t i = 0; i < COSTS_WAITS; i++)
		cost_release(&c->waits[i]);
}

void cost_count_print(FILE *out, const struct cost *cost)
{
	static const struct {
		const char *table, *one, *more;
	} nouns[] = {{"nvtx_sum", "range", "ranges"}, {"cpu_by_function", "sample", "samples"},
		{"cuda_gpu_kern_sum", "launch", "launches"},
		{"cuda_gpu_mem_time_sum", "operation", "operations"}, {"", "call", "calls"}};
	size_t i = 0;
	if (cost->count < 0)
		return;
	while (*nouns[i].table && strcmp(nouns[i].table, cost->table) != 0)
		i++;
	print_grouped(out, (uint64_t)cost->count);
	fprintf(out, " %s", cost->count == 1 ? nouns[i].one : nouns[i].more);
}

void cost_print(FILE *out, const struct cost *cost)
{
	static const struct {
		int64_t ns;
		const char *name;
	} units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}};
	size_t i = 0;
	while (i < 2 && cost->ns < units[i].ns)
		i++;
	fprintf(out, "%.3f %s", (double)cost->ns / (double)units[i].ns, units[i].name);
	fputs(cost->count >= 0 ? " in " : "", out);
	cost_count_print(out, cost);
	fputs(cost->waits ? ", waiting" : cost->may_wait ? ", may have waited" : "", out);
}
