/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_states.c - states of threads for timelines, through a temporary database.
 */
#include "reader/cli/export/thread_states.h"

#include <errno.h>

#include "reader/cli/database/stats.h"
#include "reader/export/sqlite/threads.h"

struct rows {
	const struct contents *contents;
	int (*put)(void *sink, const struct perfetto_state *);
	void *sink;
	uint64_t start_ns; /* time 0 of the database */
	int failed;        /* error of `put` */
};

enum { GLOBAL_TID, START, DURATION, STATE, DETAIL, CPU, COLUMNS };

static int row_put(void *user, const struct sql_value *v, int count)
{
	struct rows *r = user;
	if (count != COLUMNS || v[STATE].type != SQL_TEXT || v[START].integer < 0)
		return 0;
	const uint64_t thread = (uint64_t)v[GLOBAL_TID].integer;
	const struct perfetto_state state = {
		.process = thread_process(&r->contents->processes, (int64_t)thread),
		.tid = (uint32_t)(thread & 0xffffff),
		.start_ns = r->start_ns + (uint64_t)v[START].integer,
		.duration_ns = (uint64_t)v[DURATION].integer,
		.name = v[STATE].text,
		.detail = v[DETAIL].type == SQL_TEXT ? v[DETAIL].text : "",
		.cpu = v[CPU].type == SQL_INTEGER ? (int)v[CPU].integer : -1};
	if (state.process)
		r->failed = r->put(r->sink, &state);
	return r->failed;
}

static int states_read(struct sql *s, struct rows *rows)
{
	static const char *const before[] = {"osrt", "thread_time", "thread_states"};
	static const char query[] =
		"SELECT globalTid, start, \"end\" - start, state, detail, cpu FROM THREAD_STATES "
		"WHERE \"end\" > start ORDER BY globalTid, start";
	const struct sql_visitor visitor = {rows, NULL, row_put};
	int error = 0;
	for (size_t i = 0; !error && i < sizeof(before) / sizeof(before[0]); i++)
		error = sql_run(s, report_shared(before[i]), NULL);
	return error ? error : sql_run(s, query, &visitor);
}

bool thread_states_are_in(const struct contents *c)
{
	return c->selected[KIND_THREAD_TIME] || c->selected[KIND_SCHED_SWITCH];
}

int thread_states_put(void *user, int (*put)(void *sink, const struct perfetto_state *), void *sink)
{
	const struct thread_states *t = user;
	const struct stats_form form = {.symbol_path = t->options->value[OPT_export_symbol_path],
		.no_wait = t->options->value[OPT_export_no_wait],
		.window = {.all = true}};
	const Libtrace__Session *session = t->contents->session;
	struct rows rows = {.contents = t->contents,
		.put = put,
		.sink = sink,
		.start_ns = session ? session->start_ns : 0};
	struct stats_database d;
	if (!thread_states_are_in(t->contents))
		return 0;
	if (stats_database_open(&d, t->report->path, &form, true))
		return -EIO;
	int error = states_read(&d.sql, &rows);
	if (error && !rows.failed) {
		sql_file_failed(&d.sql, t->report->path, "compute the threads' states", error);
		error = -EIO;
	}
	stats_database_close(&d);
	return rows.failed ? rows.failed : error;
}
