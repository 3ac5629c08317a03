/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.c - reports on OS runtime calls, their callchains, and NVTX ranges.
 *
 * They are computed from a report without a database, in the layout and formats of nsys.
 */
#define _GNU_SOURCE
#include "reader/cli/stats/stats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/cli/base/chains.h"
#include "reader/cli/base/input.h"
#include "reader/cli/base/message.h"
#include "reader/cli/stats/cells.h"
#include "reader/cli/stats/chains.h"
#include "reader/cli/stats/nvtx.h"
#include "reader/cli/database/input.h"
#include "reader/cli/stats/wall.h"
#include "reader/cli/base/table.h"
#include "reader/stats/osrt.h"

static const struct table_column sum_columns[] = {
	{"Time (%)", false, 0, false},
	{"Total Time (ns)", false, 0, false},
	{"Num Calls", false, 0, false},
	{"Avg (ns)", false, 0, false},
	{"Med (ns)", false, 0, false},
	{"Min (ns)", false, 0, false},
	{"Max (ns)", false, 0, false},
	{"StdDev (ns)", false, 0, false},
	{"Name", true, 0, false},
};

static const struct table_column totals_columns[] = {
	{"Calls", false, 0, false},
	{"Total (ns)", false, 0, false},
	{"Recorded", false, 0, false},
	{"Recorded (ns)", false, 0, false},
	{"Below Threshold", false, 0, false},
	{"Below Threshold (ns)", false, 0, false},
	{"Unfinished", false, 0, false},
	{"Name", true, 0, false},
};

/* The data that the reports of a list are computed from. */
struct stats_data {
	struct contents contents;
	struct osrt_totals totals;
	struct symbols symbols;
	struct profile profile;
	struct nvtx_sums nvtx;
	struct nvtx_trace nvtx_trace;
	enum profile_weight weight;
	enum table_format format;
	enum table_time time;
	bool is_filtered; /* options select some of the events */
	struct stats_document *document;
};

#define COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))

static void fill_sum(struct table *t, struct stats_data *data)
{
	const struct osrt_totals *totals = &data->totals;
	long double all = 0;
	for (uint32_t i = 0; i < totals->count; i++)
		all += (long double)totals->functions[i]->calls.total;
	for (uint32_t i = 0; i < totals->count; i++) {
		const struct durations *d = &totals->functions[i]->calls;
		if (!d->count)
			continue;
		stats_duration_cells(t, d, all);
		table_cell(t, "%s", totals->functions[i]->name);
	}
}

/* Compare by all calls, not only by the recorded ones. */
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

static void fill_totals(struct table *t, struct stats_data *data)
{
	const struct osrt_totals *totals = &data->totals;
	struct osrt_function **rows = totals->count ? malloc(totals->count * sizeof(*rows)) : NULL;
	t->broken |= totals->count && !rows;
	if (!rows)
		return;
	memcpy(rows, totals->functions, totals->count * sizeof(*rows));
	qsort(rows, totals->count, sizeof(*rows), compare_all);
	for (uint32_t i = 0; i < totals->count; i++) {
		const struct osrt_function *f = rows[i];
		table_cell(t, "%" PRIu64, f->calls.count + f->unfinished + f->summary_count);
		table_cell(t, "%" PRIu64, stats_saturated(f->calls.total + f->summary_ns));
		table_cell(t, "%" PRIu64, f->calls.count);
		table_cell(t, "%" PRIu64, stats_saturated(f->calls.total));
		table_cell(t, "%" PRIu64, f->summary_count);
		table_cell(t, "%" PRIu64, f->summary_ns);
		table_cell(t, "%" PRIu64, f->unfinished);
		table_cell(t, "%s", f->name);
	}
	free(rows);
}

static void fill_tree(struct table *t, struct stats_data *data)
{
	chain_tree_fill(t, &data->profile, data->weight, data->format == TABLE_ALIGNED);
}

static void fill_flat(struct table *t, struct stats_data *data)
{
	chain_flat_fill(t, &data->profile, data->weight);
}

static void fill_nvtx(struct table *t, struct stats_data *data)
{
	nvtx_sum_fill(t, &data->nvtx);
}

static void fill_push_pop(struct table *t, struct stats_data *data)
{
	nvtx_style_fill(t, &data->nvtx, NVTX_PUSH_POP);
}

static void fill_start_end(struct table *t, struct stats_data *data)
{
	nvtx_style_fill(t, &data->nvtx, NVTX_START_END);
}

static void fill_nvtx_trace(struct table *t, struct stats_data *data)
{
	struct contents *c = &data->contents;
	nvtx_trace_fill(t, &data->nvtx_trace, c, c->session ? c->session->start_ns : 0);
}

/* The sources of reports; each needs a pass of its own. */
enum stats_source { FROM_TOTALS, FROM_PROFILE, FROM_NVTX, FROM_NVTX_TRACE, SOURCES };

/* The data that a report without rows says is missing. */
static const char *const stats_source_names[SOURCES] = {"OS Runtime trace data (--trace=osrt)",
	"callchain data", "NV Tools Extension (NVTX) data (--trace=nvtx)",
	"NV Tools Extension (NVTX) data (--trace=nvtx)"};

struct stats_report {
	const char *name, *title;
	enum stats_source source;
	const struct table_column *columns;
	size_t column_count;
	void (*fill)(struct table *t, struct stats_data *data);
};

static const struct stats_report reports[] = {
	{"osrt_sum", "OS Runtime Summary", FROM_TOTALS, sum_columns, COUNT(sum_columns), fill_sum},
	{"osrt_totals", "OS Runtime Totals", FROM_TOTALS, totals_columns, COUNT(totals_columns),
		fill_totals},
	{"callchain_tree", "Callchains, Outermost Function First", FROM_PROFILE, chain_tree_columns,
		CHAIN_TREE_COLUMNS, fill_tree},
	{"callchain_flat", "Callchains by Function", FROM_PROFILE, chain_flat_columns,
		CHAIN_FLAT_COLUMNS, fill_flat},
	{"nvtx_sum", "NVTX Range Summary", FROM_NVTX, nvtx_sum_columns, NVTX_SUM_COLUMNS,
		fill_nvtx},
	{"nvtx_pushpop_sum", "NVTX Push/Pop Range Summary", FROM_NVTX, nvtx_style_columns,
		NVTX_STYLE_COLUMNS, fill_push_pop},
	{"nvtx_startend_sum", "NVTX Start/End Range Summary", FROM_NVTX, nvtx_style_columns,
		NVTX_STYLE_COLUMNS, fill_start_end},
	{"nvtx_pushpop_trace", "NVTX Push/Pop Range Trace", FROM_NVTX_TRACE, nvtx_trace_columns,
		NVTX_TRACE_COLUMNS, fill_nvtx_trace},
};

static const struct stats_report *report_named(const char *name, size_t bytes)
{
	for (size_t i = 0; i < COUNT(reports); i++)
		if (strlen(reports[i].name) == bytes && !strncmp(reports[i].name, name, bytes))
			return &reports[i];
	return NULL;
}

static int print_report(
	const struct stats_report *s, struct stats_data *data, const char *file, FILE *out)
{
	struct table t;
	bool aligned = data->format == TABLE_ALIGNED;
	table_init(&t, s->columns, s->column_count);
	t.time = data->time;
	s->fill(&t, data);
	if (aligned)
		fprintf(out, "Processing [%s] with [%s]... \n", file, s->name);
	int error = 0;
	if (!t.count && !t.broken && aligned) {
		if (data->is_filtered)
			fprintf(out, STATS_NO_MATCH "\n", file);
		else
			fprintf(out, "SKIPPED: %s does not contain %s.\n\n", file,
				stats_source_names[s->source]);
	} else {
		if (aligned)
			fprintf(out, "\n ** %s (%s):\n\n", s->title, s->name);
		stats_document_table(data->document, out, file, s->name, strlen(s->name));
		error = table_print(&t, data->format, out);
		stats_document_table_end(data->document, out);
		if (aligned)
			fputc('\n', out);
	}
	table_release(&t);
	return error;
}

static int print_reports(const char *list, struct stats_data *data, const char *file, FILE *out)
{
	for (const char *at = list;;) {
		size_t bytes = strcspn(at, ",");
		int error = print_report(report_named(at, bytes), data, file, out);
		if (error || !at[bytes])
			return error;
		at += bytes + 1;
		if (data->format != TABLE_ALIGNED && !stats_document_used(data->document))
			fputc('\n', out);
	}
}

bool stats_direct(const char *name, size_t bytes)
{
	return report_named(name, bytes);
}

const char *stats_direct_at(size_t n)
{
	return n < COUNT(reports) ? reports[n].name : NULL;
}

/* Print a note about short calls: osrt_sum, as in nsys, counts only recorded calls. */
static void print_short_calls(const struct osrt_totals *totals)
{
	uint64_t recorded = 0, summed = 0;
	for (uint32_t i = 0; i < totals->count; i++) {
		recorded += totals->functions[i]->calls.count;
		summed += totals->functions[i]->summary_count;
	}
	if (summed > recorded)
		cli_note("osrt_sum leaves out %" PRIu64
			 " calls below the threshold; use '-r osrt_totals' to include them",
			summed);
}

/* Print a note if times are coarse: those of a short call tell little, their sum is right. */
static void note_tick(const char *file, const struct contents *c)
{
	double tick_ns = contents_tick_ns(c);
	if (tick_ns > 0)
		cli_note("'%s': times are multiples of %.3g ns, the tick of that machine's counter",
			file, tick_ns);
}

/* Return whether a report of the list uses this source. */
static bool list_has(const char *list, enum stats_source source)
{
	for (const char *at = list;; at++) {
		size_t bytes = strcspn(at, ",");
		if (report_named(at, bytes)->source == source)
			return true;
		at += bytes;
		if (!*at)
			return false;
	}
}

void stats_note_left_out(const char *file, const struct profile *p, const char *of)
{
	static const char *const names[] = {[PROFILE_OSRT] = "calls",
		[PROFILE_NVTX] = "NVTX events",
		[PROFILE_CPU] = "CPU samples",
		[PROFILE_OFFCPU] = "calls",
		[PROFILE_WALL] = "events",
		[PROFILE_FUNCTIONS] = "calls of functions"};
	const char *what = names[p->source];
	if (p->without_chain && p->unfinished)
		cli_note("'%s': left out%s %" PRIu64 " %s without a callchain and %" PRIu64
			 " unfinished ones",
			file, of, p->without_chain, what, p->unfinished);
	else if (p->without_chain || p->unfinished)
		cli_note("'%s': left out%s %" PRIu64 " %s %s", file, of,
			p->without_chain + p->unfinished, what,
			p->unfinished ? "that did not end" : "without a callchain");
	if (p->too_deep)
		cli_note("'%s': left out%s %" PRIu64 " calls of functions within %u others, whose "
			 "innermost one has their time",
			file, of, p->too_deep, PROFILE_CALLS_OPEN_MAX);
	chains_note_unresolved(p->symbols);
}

static int profile_gather(struct stats_data *d, struct cli_report *r, const struct stats_form *form,
	const struct contents_visitor *visitor)
{
	int error = profile_init(
		&d->profile, &d->contents, &d->symbols, &form->filter, form->source, false);
	if (!error)
		error = profile_read(&d->profile, &r->report, visitor);
	if (!error && wall_has(form->source))
		error = wall_add(&d->profile, r->path, form, form->no_symbols);
	d->weight = profile_weight_of(&d->profile, d->weight);
	if (!error)
		stats_note_left_out(r->path, &d->profile, "");
	return error;
}

static int nvtx_gather(
	struct stats_data *d, struct cli_report *r, const struct contents_visitor *visitor)
{
	int error = nvtx_sums_read(&d->nvtx, &d->contents, &r->report, visitor);
	if (!error && d->nvtx.unfinished)
		cli_note("'%s': left out %" PRIu64 " ranges that were not ended", r->path,
			d->nvtx.unfinished);
	return error;
}

static int stats_source_read(struct stats_data *d, struct cli_report *r, enum stats_source source,
	const struct stats_form *form)
{
	const struct contents_visitor visitor = {r, cli_progress, NULL, cli_problem};
	switch (source) {
	case FROM_TOTALS:
		return osrt_totals_read(&d->totals, &d->contents, &r->report, &visitor);
	case FROM_NVTX:
		return nvtx_gather(d, r, &visitor);
	case FROM_NVTX_TRACE:
		return nvtx_trace_read(&d->nvtx_trace, &d->contents, &r->report, &visitor);
	default:
		return profile_gather(d, r, form, &visitor);
	}
}

/* Read the sources. Each reads the whole report, so later passes encounter the problems again that
 * the first one has printed. */
static int data_read(
	struct stats_data *d, struct cli_report *r, const char *list, const struct stats_form *form)
{
	static const enum stats_source order[] = {
		FROM_TOTALS, FROM_NVTX, FROM_NVTX_TRACE, FROM_PROFILE};
	uint64_t problems = 0;
	bool again = false;
	int error = 0;
	for (size_t i = 0; !error && i < COUNT(order); i++) {
		if (!list_has(list, order[i]))
			continue;
		if (again) {
			problems = r->problems;
			contents_release(&d->contents);
			contents_init(&d->contents);
		}
		r->quiet = again;
		error = stats_source_read(d, r, order[i], form);
		r->problems = again ? problems : r->problems;
		again = true;
	}
	r->quiet = false;
	return error;
}

int stats_print(const char *file, const char *list, const struct stats_form *form, FILE *out,
	const char *out_name)
{
	struct cli_report r;
	struct stats_data d = {.weight = form->weight,
		.format = table_format_named(form->format),
		.document = form->document,
		.time = form->time};
	if (input_open_events(&r, file, form->no_wait))
		return STATUS_FAILED;
	d.is_filtered =
		form->filter.name || form->filter.pid || form->filter.tid || r.selection.asked;
	contents_init(&d.contents);
	osrt_totals_init(&d.totals);
	d.totals.filter = form->filter;
	nvtx_sums_init(&d.nvtx);
	d.nvtx.filter = form->filter;
	nvtx_trace_init(&d.nvtx_trace);
	d.nvtx_trace.filter = form->filter;
	symbols_init(&d.symbols, &d.contents, form->symbol_path);
	d.symbols.no_names = form->no_symbols;
	int error = data_read(&d, &r, list, form);
	cli_progress_end(&r);
	if (form->events)
		memcpy(form->events, d.contents.events, sizeof(d.contents.events));
	const struct walk_tally *tally = &d.contents.tally;
	const bool is_foreign = tally->blocks && tally->blocks == tally->foreign_blocks;
	const bool was_printed = is_foreign && tally->results && form->results_only;
	if (was_printed)
		*form->results_only = true;
	const bool is_imported = form->imported_only && d.contents.import_count &&
		!d.contents.events[KIND_OSRT_CALL];
	if (is_imported)
		*form->imported_only = true;
	if (!error && !was_printed && !is_imported)
		error = print_reports(list, &d, file, out);
	if (!error && is_foreign && !was_printed)
		cli_note("'%s' has no OS runtime events, since it was not written by libtrace%s",
			file,
			tally->results ? "; use '-r cuda_gpu_kern_sum' and '-r ncu_metric_sum' for "
					 "times and metrics of its kernels"
				       : "");
	if (!error && !was_printed)
		cli_note_cut_off(&r, &d.contents);
	if (!error && !was_printed)
		note_tick(file, &d.contents);
	if (!error && !strcmp(list, "osrt_sum"))
		print_short_calls(&d.totals);
	int status = error ? cli_failed(&r, error) : cli_finish(out, out_name);
	if (!status && r.problems)
		status = STATUS_DAMAGED;
	profile_release(&d.profile);
	symbols_release(&d.symbols);
	osrt_totals_release(&d.totals);
	nvtx_sums_release(&d.nvtx);
	nvtx_trace_release(&d.nvtx_trace);
	contents_release(&d.contents);
	cli_close(&r);
	return status;
}
