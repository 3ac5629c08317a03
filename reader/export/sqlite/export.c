/* SPDX-License-Identifier: Apache-2.0 */
/* export.c - sequence of an export: two passes over each report, then the common tables. */
#include "reader/export/sqlite/export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/export/sqlite/export_state.h"
#include "reader/export/sqlite/facts.h"
#include "reader/export/sqlite/osrt_calls.h"
#include "reader/export/sqlite/rows.h"
#include "reader/sql/path/compute.h"
#include "reader/sql/views.h"

static int visit_block(void *user, const struct report_block *block)
{
	const struct sqlite_export *x = user;
	const struct contents_visitor *v = &x->source->visitor;
	return v->block ? v->block(v->user, block) : 0;
}

static int visit_first_block(void *user, const struct report_block *block)
{
	int error = results_note(user, block);
	return error ? error : visit_block(user, block);
}

static int visit_second_block(void *user, const struct report_block *block)
{
	int error = results_rows(user, block);
	return error ? error : visit_block(user, block);
}

static void visit_problem(void *user, uint64_t offset, const char *cause)
{
	const struct sqlite_export *x = user;
	const struct contents_visitor *v = &x->source->visitor;
	if (v->problem)
		v->problem(v->user, offset, cause);
}

static int visit_batch(void *user, struct walk *walk, const struct event_batch *b)
{
	(void)walk;
	return batch_rows(user, b);
}

static int visit_first(void *user, struct walk *walk, const struct event_batch *b)
{
	(void)walk;
	int error = nvtx_domains_collect(user, b);
	if (!error)
		error = files_collect(user, b);
	return error ? error : cuda_values_collect(user, b);
}

/* Read the start of the session on both clocks from the first block; 0 if it is not there. Reports
 * of Nsight Compute contain only the wall clock. */
static int session_times(const struct report *r, uint64_t *ret_start, uint64_t *ret_real)
{
	struct walk walk;
	struct report_entry entry;
	const char *cause;
	*ret_start = *ret_real = 0;
	walk_start(&walk, r);
	int found = walk_next(&walk);
	const Libtrace__SessionDetails *d = found > 0 ? walk.block.header->session_details : NULL;
	if (d && d->creation_time_s < INT64_MAX / 1000000000u)
		*ret_real = d->creation_time_s * 1000000000u;
	while (found > 0 && report_block_entry(&walk.block, &entry, &cause) > 0) {
		Libtrace__Session *s = entry.kind == ENTRY_SESSION
			? libtrace__session__unpack(
				  NULL, (size_t)(entry.inner_end - entry.inner), entry.inner)
			: NULL;
		if (!s)
			continue;
		*ret_start = s->start_ns;
		*ret_real = s->start_realtime_ns;
		libtrace__session__free_unpacked(s, NULL);
	}
	walk_stop(&walk);
	return found < 0 ? found : 0;
}

/* Find the earliest start of a session. */
static int base_find(struct sqlite_export *x)
{
	for (uint32_t i = 0; i < x->job->count; i++) {
		uint64_t start, real;
		x->source = &x->job->sources[i];
		int error = session_times(x->source->report, &start, &real);
		if (error)
			return error;
		if (!i || (real && (!x->clock.base_real_ns || real < x->clock.base_real_ns))) {
			x->clock.base_real_ns = real;
			x->clock.base_clock_ns = start;
		}
	}
	return 0;
}

static void report_begin(struct sqlite_export *x, uint32_t index)
{
	x->source = &x->job->sources[index];
	threads_report_begin(&x->threads);
	contents_init(&x->contents);
	text_ids_report(&x->texts, &x->contents.strings);
	nvtx_domains_report_begin(x);
	symbols_init(&x->symbols, &x->contents, x->job->symbol_path);
	results_report_begin(&x->results, x->source->report);
}

static void report_end(struct sqlite_export *x)
{
	results_report_end(&x->results);
	nvtx_domains_report_end(&x->nvtx);
	symbols_release(&x->symbols);
	text_ids_report(&x->texts, NULL);
	contents_release(&x->contents);
	chains_report_end(x);
	files_report_end(&x->files);
	map_release(&x->objects);
	cuda_values_report_end(&x->cuda);
	threads_report_end(&x->threads);
}

/* Set the clock for the times of the current report. */
static void clock_set(struct sqlite_export *x)
{
	const struct contents *c = &x->contents;
	const Libtrace__Session *s = c->session;
	x->clock.start_ns = s ? s->start_ns : c->first_ns <= c->last_ns ? c->first_ns : 0;
	x->clock.shift_ns = s && s->start_realtime_ns && x->clock.base_real_ns
		? (int64_t)(s->start_realtime_ns - x->clock.base_real_ns)
		: 0;
	int64_t last = c->first_ns <= c->last_ns ? export_time(x, c->last_ns) : 0;
	x->clock.last_ns = last > x->clock.last_ns ? last : x->clock.last_ns;
}

static int report_write(struct sqlite_export *x)
{
	const struct contents_visitor *v = &x->source->visitor,
				      first = {x, visit_first_block, visit_first, visit_problem},
				      second = {x, visit_second_block, visit_batch, NULL};
	int error = contents_read(&x->contents, x->source->report, &first);
	if (!error) {
		clock_set(x);
		error = process_lives_find(&x->threads, &x->contents.processes);
	}
	if (!error)
		error = cuda_values_enter(x);
	if (!error)
		error = nvtx_domains_number(x);
	if (!error)
		error = files_find(x);
	if (!error)
		error = results_ready(x);
	if (!error)
		error = contents_batches(x->source->report, &second);
	if (error)
		return error;
	if (x->source->ended)
		x->source->ended(v->user, &x->contents);
	error = log_patterns_keep(x);
	if (!error)
		error = report_facts_write(x);
	return error ? error : results_processes(x);
}

static int export_begin(struct sqlite_export *x)
{
	int error = database_create(&x->database, x->job->output, x->job->overwrite);
	x->database.generation = x->job->generation;
	if (!error)
		error = nsys_rows_begin(x);
	if (!error)
		error = osrt_calls_begin(x);
	if (!error)
		rows_begin(x);
	if (!error)
		error = own_tables_begin(x);
	if (!error)
		error = chains_begin(x);
	return error ? error : results_begin(x);
}

static const char path_columns[] =
	"pathId INTEGER, segment INTEGER, start INTEGER, end INTEGER, duration INTEGER, kind TEXT, "
	"pid INTEGER, tid INTEGER, stream INTEGER, cause TEXT, sure TEXT, place TEXT";
static const char path_rows[] =
	"SELECT pathId, segment, start, \"end\", duration, kind, pid, tid, "
	"stream, cause, sure, place "
	"FROM LIBTRACE_CRITICAL_PATH ORDER BY pathId, segment DESC, duration "
	"DESC, place";

enum path_column {
	PATH,
	SEGMENT,
	START,
	END,
	DURATION,
	KIND,
	PID,
	TID,
	STREAM,
	CAUSE,
	SURE,
	PLACE,
	COLUMNS
};

static int path_row_write(void *user, const struct sql_value *v, int count)
{
	struct sqlite_export *x = user;
	return count != COLUMNS
		? 0
		: database_row(&x->database, "LIBTRACE_CRITICAL_PATH", "iiiiitooottt",
			  v[PATH].integer, v[SEGMENT].integer, v[START].integer, v[END].integer,
			  v[DURATION].integer, v[KIND].text, v[PID].type != SQL_NULL,
			  v[PID].integer, v[TID].type != SQL_NULL, v[TID].integer,
			  v[STREAM].type != SQL_NULL, v[STREAM].integer, v[CAUSE].text,
			  v[SURE].text, v[PLACE].text);
}

/* Compute the critical path by another connection, from the rows that have been committed; it has
 * read all of them before the first row is written. */
static int path_write(struct sqlite_export *x)
{
	const struct sql_visitor visitor = {x, NULL, path_row_write};
	struct database *d = &x->database;
	struct sql s;
	int error = database_commit(d);
	if (!error)
		error = database_table(d, "LIBTRACE_CRITICAL_PATH", path_columns);
	if (error)
		return error;
	error = sql_open(&s, d->temporary);
	if (!error)
		error = views_make(&s);
	if (!error)
		error = path_compute(&s, true, false);
	if (!error)
		error = views_drop(&s);
	if (!error)
		error = sql_run(&s, path_rows, &visitor);
	if (error && *s.cause)
		snprintf(d->cause, sizeof(d->cause), "%.*s", (int)sizeof(d->cause) - 1, s.cause);
	sql_close(&s);
	return error;
}

static int export_end(struct sqlite_export *x)
{
	int error = nsys_rows_end(&x->nsys);
	if (!error)
		error = own_tables_end(&x->own);
	if (!error)
		error = chains_end(x);
	if (!error)
		error = results_end(&x->results);
	if (!error)
		error = cuda_values_number(x);
	if (!error)
		error = common_facts_write(x);
	if (!error && x->job->critical_path)
		error = path_write(x);
	return error ? error : database_finish(&x->database);
}

/* Count the rows of events, callchains and results. */
static uint64_t rows_count(const struct sqlite_export *x)
{
	uint64_t rows = 0;
	for (uint32_t i = 0; i < NSYS_TABLES; i++)
		rows += x->nsys.tables[i].rows;
	for (uint32_t i = 0; i < SCHEMA_KINDS; i++)
		rows += x->own.facts[i].rows + x->own.others[i].rows;
	for (uint32_t i = 0; i < RESULTS_TABLES; i++)
		rows += x->results.tables[i].rows;
	return rows;
}

static void state_free(struct sqlite_export *x)
{
	nsys_rows_release(&x->nsys);
	own_tables_release(&x->own);
	chains_release(x);
	results_release(&x->results);
	database_abandon(&x->database);
	text_ids_release(&x->texts);
	cuda_values_release(&x->cuda);
	threads_release(&x->threads);
	nvtx_domains_release(&x->nvtx);
	files_release(&x->files);
	log_patterns_release(&x->log);
	free(x->decoder.columns);
	free(x);
}

int sqlite_export(const struct sqlite_job *job, struct sqlite_result *ret_result)
{
	struct sqlite_export *x = calloc(1, sizeof(*x));
	*ret_result = (struct sqlite_result){0};
	if (!x)
		return -ENOMEM;
	x->job = job;
	int error = job->count > SQLITE_REPORTS_MAX ? -E2BIG : base_find(x);
	if (!error)
		error = export_begin(x);
	for (uint32_t i = 0; !error && i < job->count; i++) {
		report_begin(x, i);
		error = report_write(x);
		report_end(x);
	}
	if (!error)
		error = export_end(x);
	const char *cause = x->database.cause; /* "": the report could not be read */
	if (error && !*cause && x->source)
		ret_result->failed = x->source->report;
	if (error)
		snprintf(ret_result->cause, sizeof(ret_result->cause), "%s",
			*cause ? cause : strerror(-error));
	ret_result->rows = rows_count(x);
	ret_result->results = x->results.tally;
	ret_result->impossible = x->impossible;
	state_free(x);
	return error;
}
