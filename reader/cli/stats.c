/*
 * stats.c - `trace stats`: reports over OS runtime calls, in the frame and the formats of nsys.
 */
#define _GNU_SOURCE
#include "reader/cli/stats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/cli/cli.h"
#include "reader/cli/table.h"
#include "reader/osrt.h"

static const struct table_column sum_columns[] = {
	{"Time (%)", false},
	{"Total Time (ns)", false},
	{"Num Calls", false},
	{"Avg (ns)", false},
	{"Med (ns)", false},
	{"Min (ns)", false},
	{"Max (ns)", false},
	{"StdDev (ns)", false},
	{"Name", true},
};

static const struct table_column totals_columns[] = {
	{"Calls", false},
	{"Total (ns)", false},
	{"Recorded", false},
	{"Recorded (ns)", false},
	{"Below Threshold", false},
	{"Below Threshold (ns)", false},
	{"Unfinished", false},
	{"Name", true},
};

#define COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))

static uint64_t saturated(unsigned __int128 number)
{
	return number > UINT64_MAX ? UINT64_MAX : (uint64_t)number;
}

static void fill_sum(struct table *t, const struct osrt_totals *totals)
{
	long double all = 0;
	for (uint32_t i = 0; i < totals->count; i++)
		all += (long double)totals->functions[i]->calls.total;
	for (uint32_t i = 0; i < totals->count; i++) {
		const struct durations *d = &totals->functions[i]->calls;
		if (!d->count)
			continue;
		table_cell(t, "%.1f", all > 0 ? (double)(100 * (long double)d->total / all) : 0);
		table_cell(t, "%" PRIu64, saturated(d->total));
		table_cell(t, "%" PRIu64, d->count);
		table_cell(t, "%.1f", durations_mean(d));
		table_cell(t, "%.1f", durations_median(d));
		table_cell(t, "%" PRIu64, d->min);
		table_cell(t, "%" PRIu64, d->max);
		table_cell(t, "%.1f", durations_deviation(d));
		table_cell(t, "%s", totals->functions[i]->name);
	}
}

/* Sorted by all calls, not only by the recorded ones. */
static int compare_all(const void *a, const void *b)
{
	const struct osrt_function *x = *(struct osrt_function *const *)a,
				   *y = *(struct osrt_function *const *)b;
	unsigned __int128 total_x = x->calls.total + x->summary_ns,
			  total_y = y->calls.total + y->summary_ns;
	if (total_x != total_y)
		return total_x < total_y ? 1 : -1;
	uint64_t count_x = x->calls.count + x->summary_count,
		 count_y = y->calls.count + y->summary_count;
	if (count_x != count_y)
		return count_x < count_y ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void fill_totals(struct table *t, const struct osrt_totals *totals)
{
	struct osrt_function **rows = totals->count ? malloc(totals->count * sizeof(*rows)) : NULL;
	t->broken |= totals->count && !rows;
	if (!rows)
		return;
	memcpy(rows, totals->functions, totals->count * sizeof(*rows));
	qsort(rows, totals->count, sizeof(*rows), compare_all);
	for (uint32_t i = 0; i < totals->count; i++) {
		const struct osrt_function *f = rows[i];
		table_cell(t, "%" PRIu64, f->calls.count + f->unfinished + f->summary_count);
		table_cell(t, "%" PRIu64, saturated(f->calls.total + f->summary_ns));
		table_cell(t, "%" PRIu64, f->calls.count);
		table_cell(t, "%" PRIu64, saturated(f->calls.total));
		table_cell(t, "%" PRIu64, f->summary_count);
		table_cell(t, "%" PRIu64, f->summary_ns);
		table_cell(t, "%" PRIu64, f->unfinished);
		table_cell(t, "%s", f->name);
	}
	free(rows);
}

struct stats_report {
	const char *name, *title;
	const struct table_column *columns;
	size_t column_count;
	void (*fill)(struct table *t, const struct osrt_totals *totals);
};

static const struct stats_report reports[] = {
	{"osrt_sum", "OS Runtime Summary", sum_columns, COUNT(sum_columns), fill_sum},
	{"osrt_totals", "OS Runtime Totals", totals_columns, COUNT(totals_columns), fill_totals},
};

static const struct stats_report *report_named(const char *name, size_t bytes)
{
	for (size_t i = 0; i < COUNT(reports); i++)
		if (strlen(reports[i].name) == bytes && !strncmp(reports[i].name, name, bytes))
			return &reports[i];
	return NULL;
}

static enum table_format format_named(const char *name)
{
	if (!name || !strcmp(name, "table") || !strcmp(name, "column"))
		return TABLE_ALIGNED;
	return !strcmp(name, "csv") ? TABLE_CSV : !strcmp(name, "tsv") ? TABLE_TSV : TABLE_JSON;
}

static int print_report(const struct stats_report *s, const struct osrt_totals *totals,
	const char *file, enum table_format format, FILE *out)
{
	struct table t;
	table_init(&t, s->columns, s->column_count);
	s->fill(&t, totals);
	if (format == TABLE_ALIGNED)
		fprintf(out, "Processing [%s] with [%s]... \n", file, s->name);
	int error = 0;
	if (!t.count && !t.broken && format == TABLE_ALIGNED) {
		fprintf(out, "SKIPPED: %s does not contain OS Runtime trace data.\n\n", file);
	} else {
		if (format == TABLE_ALIGNED)
			fprintf(out, "\n ** %s (%s):\n\n", s->title, s->name);
		error = table_print(&t, format, out);
		if (format == TABLE_ALIGNED)
			fputc('\n', out);
	}
	table_release(&t);
	return error;
}

static int print_reports(const char *list, const struct osrt_totals *totals, const char *file,
	enum table_format format, FILE *out)
{
	for (const char *at = list;;) {
		size_t bytes = strcspn(at, ",");
		int error = print_report(report_named(at, bytes), totals, file, format, out);
		if (error || !at[bytes])
			return error;
		at += bytes + 1;
		if (format != TABLE_ALIGNED)
			fputc('\n', out);
	}
}

static bool list_is_known(const char *list)
{
	for (const char *at = list;; at++) {
		size_t bytes = strcspn(at, ",");
		if (!report_named(at, bytes)) {
			cli_error("'%.*s' is no report; there are osrt_sum and osrt_totals",
				(int)bytes, at);
			return false;
		}
		at += bytes;
		if (!*at)
			return true;
	}
}

/* osrt_sum, as nsys has it, knows the recorded calls only. */
static void tell_short_calls(const struct osrt_totals *totals)
{
	uint64_t recorded = 0, summed = 0;
	for (uint32_t i = 0; i < totals->count; i++) {
		recorded += totals->functions[i]->calls.count;
		summed += totals->functions[i]->summary_count;
	}
	if (summed > recorded)
		cli_note("%" PRIu64
			 " calls below the threshold are not in osrt_sum: '-r osrt_totals' "
			 "has them",
			summed);
}

int stats_print(const char *file, const char *list, const char *format, bool no_wait, FILE *out,
	const char *out_name)
{
	struct cli_report r;
	struct contents c;
	struct osrt_totals totals;
	const struct contents_visitor visitor = {&r, cli_progress, NULL, cli_problem};
	if (cli_open(&r, file, no_wait))
		return STATUS_FAILED;
	contents_init(&c);
	osrt_totals_init(&totals);
	int error = osrt_totals_read(&totals, &c, &r.report, &visitor);
	cli_progress_end(&r);
	if (!error)
		error = print_reports(list, &totals, file, format_named(format), out);
	if (!error && c.tally.blocks == c.tally.foreign_blocks && c.tally.blocks)
		cli_note("'%s' holds no OS runtime events: it was not written by libtrace", file);
	if (!error && !strcmp(list, "osrt_sum"))
		tell_short_calls(&totals);
	int status = error ? cli_failed(&r, error) : cli_finish(out, out_name);
	if (!status && r.problems)
		status = STATUS_DAMAGED;
	osrt_totals_release(&totals);
	contents_release(&c);
	cli_close(&r);
	return status;
}

struct output {
	FILE *out;
	const char *name;
	int files;
};

static int stats_file(const struct options *o, const char *file, void *user)
{
	struct output *output = user;
	const char *list = o->value[OPT_stats_report] ? o->value[OPT_stats_report] : "osrt_sum",
		   *format = o->value[OPT_stats_format];
	if (output->files++ && format_named(format) != TABLE_ALIGNED)
		fputc('\n', output->out);
	if (o->argc > 1 && format_named(format) != TABLE_ALIGNED)
		fprintf(output->out, "%s\n", file);
	return stats_print(
		file, list, format, o->value[OPT_stats_no_wait], output->out, output->name);
}

int command_stats(const struct options *o)
{
	const char *name = o->value[OPT_stats_output], *list = o->value[OPT_stats_report];
	if (list && !list_is_known(list))
		return STATUS_FAILED;
	bool to_stdout = !name || !strcmp(name, "-");
	FILE *out = to_stdout ? stdout : fopen(name, "we");
	if (!out) {
		cli_error("cannot write '%s': %s", name, strerror(errno));
		return STATUS_FAILED;
	}
	name = to_stdout ? "standard output" : name;
	struct output output = {out, name, 0};
	int status = option_files(o, stats_file, &output);
	if (!to_stdout && fclose(out) && status < STATUS_FAILED) {
		cli_error("cannot write '%s': %s", name, strerror(errno));
		status = STATUS_FAILED;
	}
	return status;
}
