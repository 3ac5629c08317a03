/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_sql_work.c - tests that the reports of NVTX ranges and of CUDA calls, the timeline
 * and the callchains of the HTML page, waits for Python's GIL, the graph of waits, the use of
 * memory and the search for waits of NCCL take time in proportion to the size of the database.
 *
 * Counted are the steps of SQLite's virtual machine, and the open ranges that a sweep visits. The
 * rows must equal those of a join of all pairs.
 */
#define _GNU_SOURCE
#include "tests/unit/tap.h"

#ifndef HAVE_SQLITE

int main(void)
{
	printf("1..0 # SKIP no SQLite in this build\n");
	return 0;
}

#else

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/sql/connection.h"
#include "reader/sql/reports.h"
#include "reader/sql/views.h"

#define SMALL 200
#define TIMES 4     /* factor between the rows of the large and the small database */
#define GROWTH 1.25 /* greatest growth of the work per row that is allowed */
#define STEPS_COUNTED 10
#define DEPTH 12          /* frames of a callchain */
#define STEPS_OF_FRAME 20 /* greatest number for a frame that nothing is named after */

static char folder[] = "/tmp/test_reader_sql_work.XXXXXX";
static uint64_t steps;

static int step_count(void *user)
{
	(void)user;
	steps += STEPS_COUNTED;
	return 0;
}

/* Add `count` steps, alternately to two threads: each has ranges four deep, three launches with
 * kernels, and a start/end range that crosses that of the thread's previous step. Add as many
 * processes with one call each, which has a callchain of its own and which another thread waits
 * for with the GIL, and as many blocks of memory that are created, mapped and unmapped. */
static const char rows[] =
	"INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'kernel'), (3, "
	"'/lib/libc.so.6'), "
	"(4, '/lib/libapp.so'), (5, '/src/app.py'), (6, 'work (app.py:7)');"
	"CREATE TEMP TABLE n AS WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM c "
	"WHERE x + 1 < %d) SELECT x, x * 1000 AS t, x %% 2 AS tid FROM c;"
	"INSERT INTO NVTX_EVENTS SELECT t + 10 * d, t + 900 - 10 * d, 59, d || ' of ' || x, "
	"(1 << 48) + (1000 << 24) + tid FROM n, (SELECT 0 AS d UNION SELECT 1 UNION SELECT 2 "
	"UNION SELECT 3);"
	"INSERT INTO NVTX_EVENTS SELECT t + 500, t + 3500, 60, 'crosses', "
	"(1 << 48) + (1000 << 24) + tid FROM n;"
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT t + 100 * l, t + 100 * l + 50, 0, "
	"(1 << 48) + (1000 << 24) + tid, 4 * x + l, 1 FROM n, "
	"(SELECT 1 AS l UNION SELECT 2 UNION SELECT 9);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT start + 60, start + 90, correlationId, "
	"(1 << 48) + (1000 << 24), 2, 2, 0 FROM CUPTI_ACTIVITY_KIND_RUNTIME;"
	"INSERT INTO LIBTRACE_PROCESS SELECT (1 << 48) + (2000 + x << 24), t, t + 900 FROM n;"
	"INSERT INTO LIBTRACE_THREAD_START SELECT start, globalPid + 1 FROM LIBTRACE_PROCESS;"
	"INSERT INTO OSRT_API SELECT start + 10, start + 50, 27, globalPid + 1, 1, start / 1000 + "
	"1 "
	"FROM LIBTRACE_PROCESS;"
	"INSERT INTO StringIds SELECT 10 + x, 'f' || x FROM n;"
	"INSERT INTO OSRT_CALLCHAINS SELECT x + 1, 1, 3, 1, 0 FROM n UNION ALL "
	"SELECT x + 1, 10 + x, 4, 1, 1 FROM n UNION ALL SELECT x + 1, 6, 5, 1, 2 FROM n;"
	"INSERT INTO OSRT_CALLCHAINS SELECT x + 1, 2, 4, 1, 3 + d FROM n, (WITH RECURSIVE c(d) AS "
	"(SELECT 0 UNION ALL SELECT d + 1 FROM c WHERE d < %d) SELECT d FROM c);"
	"INSERT INTO LIBTRACE_GIL_WAIT SELECT start, 60, globalPid + 2, 1, 0 FROM "
	"LIBTRACE_PROCESS;"
	"INSERT INTO LIBTRACE_CUDA_MAPPING SELECT t + 100 * m, (1 << 48) + (1000 << 24), m, x + 1, "
	"(x + 1) * 4096, 4096, 0, 0, x, 1 FROM n, (SELECT 1 AS m UNION SELECT 3 UNION SELECT 4 "
	"UNION "
	"SELECT 10 UNION SELECT 12 UNION SELECT 13);";

static const char tables[] =
	"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
	"CREATE TABLE NVTX_EVENTS (start INTEGER, \"end\" INTEGER, eventType INTEGER, text TEXT, "
	"globalTid INTEGER);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, \"end\" INTEGER, eventClass "
	"INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, \"end\" INTEGER, correlationId "
	"INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, deviceId INTEGER);"
	"CREATE TABLE LIBTRACE_PROCESS (globalPid INTEGER, start INTEGER, \"end\" INTEGER);"
	"CREATE TABLE LIBTRACE_THREAD_START (timestamp INTEGER, globalTid INTEGER);"
	"CREATE TABLE OSRT_API (start INTEGER, \"end\" INTEGER, eventClass INTEGER, globalTid "
	"INTEGER, nameId INTEGER, callchainId INTEGER);"
	"CREATE TABLE OSRT_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER, module INTEGER, "
	"originalIP INTEGER, stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth));"
	"CREATE TABLE LIBTRACE_GIL_WAIT (start INTEGER, duration INTEGER, globalTid INTEGER, "
	"holderTid INTEGER, callchainId INTEGER);"
	"CREATE TABLE LIBTRACE_CUDA_MAPPING (timestamp INTEGER, globalTid INTEGER, operation "
	"INTEGER, handle INTEGER, address INTEGER, bytes INTEGER, deviceId INTEGER, correlationId "
	"INTEGER, graphId INTEGER, graphFlags INTEGER);";

/* `count` kernels of each of two processes, rank 0 and 1 of 3, which all overlap; every one is of
 * the same collective, of a message with a name of its own, and of a collective of its own of
 * another communicator, which has these two ranks. */
static const char nccl_rows[] =
	"CREATE TABLE LIBTRACE_NCCL (start INTEGER, duration INTEGER, globalTid INTEGER, nameId "
	"INTEGER, kind INTEGER, comm INTEGER, rank INTEGER, sequence INTEGER, number INTEGER, "
	"parent INTEGER, peer INTEGER);"
	"CREATE TABLE LIBTRACE_NCCL_COMMUNICATOR (globalTid INTEGER, comm INTEGER, rank INTEGER, "
	"ranks INTEGER);"
	"CREATE TEMP TABLE n AS WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM c "
	"WHERE x + 1 < %d) SELECT x, (1 << 48) + (1000 + r << 24) AS tid, r FROM c, (SELECT 0 AS r "
	"UNION SELECT 1);"
	"INSERT INTO StringIds VALUES (1, 'ncclDevKernel_Generic'), (2, 'AllReduce');"
	"INSERT INTO StringIds SELECT x + 3, 'message ' || x FROM n WHERE r = 0;"
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 100 * x, 100 * x + 20, 1, tid, x + 1, 1 "
	"FROM n;"
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 100 * x + 30 + r, 1000000000, x + 1, tid, "
	"1, "
	"1, 0 FROM n;"
	"INSERT INTO LIBTRACE_NCCL SELECT 100 * x + 10, 5, tid, 2, 1, 7, r, 1, 2 * x, 0, 0 FROM n;"
	"INSERT INTO LIBTRACE_NCCL SELECT 100 * x + 11, 5, tid, x + 3, 2, 7, r, 0, 2 * x + 1, 0, 1 "
	"- r FROM n;"
	"INSERT INTO LIBTRACE_NCCL SELECT 100 * x + 12, 5, tid, 2, 1, 8, r, x, 0, 0, 0 FROM n;"
	"INSERT INTO LIBTRACE_NCCL_COMMUNICATOR SELECT tid, 7, r, 3 FROM n WHERE x = 0;"
	"INSERT INTO LIBTRACE_NCCL_COMMUNICATOR SELECT tid, 8, r, 2 FROM n WHERE x = 0;";

static bool deep_database_open(struct sql *s, const char *format, int count, int depth)
{
	char path[96], *text = sqlite3_mprintf(format, count, depth - 4);
	sqlite3 *base = NULL;
	snprintf(path, sizeof(path), "%s/%d.sqlite", folder, count);
	bool made = text && !sqlite3_open(path, &base) &&
		!sqlite3_exec(base, tables, NULL, NULL, NULL) &&
		!sqlite3_exec(base, text, NULL, NULL, NULL);
	sqlite3_close(base);
	sqlite3_free(text);
	made = made && !sql_open(s, path) && !views_make(s);
	unlink(path);
	return check(made, "a database of %d steps: %s", count, made ? "made" : s->cause);
}

static bool database_open(struct sql *s, const char *format, int count)
{
	return deep_database_open(s, format, count, DEPTH);
}

static int row_count(void *user, const struct sql_value *values, int count)
{
	(void)values, (void)count;
	++*(uint64_t *)user;
	return 0;
}

/* Return the steps that a report takes, or 0 if it fails. */
static uint64_t work_of(struct sql *s, const char *name, const char *arguments, uint64_t *ret_rows)
{
	static const char *const before[] = {"nvtx", "launch_calls", "nvtx_launches"};
	const struct sql_report *r = report_find(name, strlen(name), false);
	const struct sql_visitor visitor = {ret_rows, NULL, row_count};
	int error = r ? 0 : -1;
	*ret_rows = 0;
	steps = 0;
	sqlite3_progress_handler(s->connection, STEPS_COUNTED, step_count, NULL);
	for (size_t i = 0; !error && i < 2 + (arguments != NULL); i++)
		error = sql_run(s, report_shared(before[i]), NULL);
	s->arguments = arguments;
	error = error ? error : sql_run(s, r->text, &visitor);
	s->arguments = NULL;
	return error ? 0 : steps;
}

static void work_grows_as_rows_do(void)
{
	static const struct {
		const char *name, *arguments;
	} reports[] = {{"nvtx_gpu_proj_trace", NULL}, {"nvtx_gpu_proj_sum", NULL},
		{"nvtx_pushpop_trace", NULL}, {"nvtx_pushpop_sum", NULL}, {"nvtx_kern_sum", NULL},
		{"nvtx_startend_sum", NULL}, {"nvtx_sum", NULL}, {"cuda_kern_exec_sum", NULL},
		{"cuda_kern_exec_trace", NULL}, {"cuda_gpu_kern_sum", "nvtx-name"},
		{"cuda_gpu_kern_sum", NULL}, {"cuda_api_sum", NULL}};
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		struct sql small, large;
		uint64_t few = 0, many = 0, work[2] = {0, 0};
		if (database_open(&small, rows, SMALL) &&
			database_open(&large, rows, TIMES * SMALL)) {
			work[0] = work_of(&small, reports[i].name, reports[i].arguments, &few);
			work[1] = work_of(&large, reports[i].name, reports[i].arguments, &many);
		}
		check(few && many >= few && work[0] &&
				(double)work[1] <= GROWTH * TIMES * (double)work[0],
			"%s: %" PRIu64 " steps, %" PRIu64 " for %d times the rows", reports[i].name,
			work[0], work[1], TIMES);
		sql_close(&small);
		sql_close(&large);
	}
}

/* Return the steps that files of reports/shared take, and a query, unless that is NULL; or 0 if one
 * fails. */
static uint64_t shared_work(
	const char *const *files, const char *query, const char *format, int count, int depth)
{
	struct sql s;
	int error = 0;
	if (!deep_database_open(&s, format, count, depth))
		return 0;
	s.arguments = "most=1000000";
	steps = 0;
	sqlite3_progress_handler(s.connection, STEPS_COUNTED, step_count, NULL);
	for (; !error && *files; files++)
		error = sql_run(&s, report_shared(*files), NULL);
	if (!error && query)
		error = sql_run(&s, query, NULL);
	if (error)
		printf("# %s\n", s.cause);
	sql_close(&s);
	return error ? 0 : steps;
}

static void shared_tables_grow_as_rows_do(void)
{
	static const struct {
		const char *title, *format, *files[12], *query;
	} tables_of[] = {{"the use of memory", rows, {"cuda_memory_use"}, NULL},
		{"the timeline", rows,
			{"nvtx", "osrt", "graphics", "function_calls", "thread_time",
				"thread_states", "cuda_memory_use", "gpu_clocks", "timeline"},
			NULL},
		{"callchains of the page", rows,
			{"nvtx", "osrt", "graphics", "function_calls", "thread_time",
				"thread_states", "cuda_memory_use", "gpu_clocks", "timeline",
				"page_unknown", "page_details"},
			"SELECT * FROM PAGE_CHAIN_FRAMES"},
		{"waits for the GIL", rows, {"gil"}, "SELECT * FROM GIL_WAITS"},
		{"waits of NCCL", nccl_rows, {"mpi", "nccl_waits"}, NULL},
		{"operations that wait for ranks", nccl_rows,
			{"gpu_work", "openmp", "mpi", "mpi_waits", "nccl_waits", "path"},
			"SELECT * FROM PATH_RANK_OPERATIONS"}};
	for (size_t i = 0; i < sizeof(tables_of) / sizeof(tables_of[0]); i++) {
		const char *format = tables_of[i].format;
		const uint64_t few =
			shared_work(tables_of[i].files, tables_of[i].query, format, SMALL, DEPTH);
		const uint64_t many = shared_work(
			tables_of[i].files, tables_of[i].query, format, TIMES * SMALL, DEPTH);
		check(few && (double)many <= GROWTH * TIMES * (double)few,
			"tables of %s: %" PRIu64 " steps, %" PRIu64 " for %d times the rows",
			tables_of[i].title, few, many, TIMES);
	}
}

static void graph_needs_few_frames(void)
{
	static const char *const files[] = {
		"gpu_work", "openmp", "mpi", "mpi_waits", "nccl_waits", "path", "wait_graph", NULL};
	static const char query[] = "SELECT * FROM LIBTRACE_WAIT_GRAPH";
	const uint64_t flat = shared_work(files, query, rows, SMALL, DEPTH);
	const uint64_t deep = shared_work(files, query, rows, SMALL, TIMES * DEPTH);
	const uint64_t most = (uint64_t)STEPS_OF_FRAME * SMALL * (TIMES - 1) * DEPTH;
	check(flat && deep && deep <= flat + most,
		"the graph of waits: %" PRIu64 " steps, %" PRIu64 " with callchains %d times as "
		"deep, at most %" PRIu64,
		flat, deep, TIMES, flat + most);
}

static int number_take(void *user, const struct sql_value *values, int count)
{
	(void)count;
	*(int64_t *)user = values[0].integer;
	return 0;
}

static int64_t number(struct sql *s, const char *text)
{
	int64_t found = -1;
	const struct sql_visitor visitor = {&found, NULL, number_take};
	return sql_run(s, text, &visitor) ? -1 : found;
}

static void sweep_visits_what_is_open(void)
{
	struct sql small, large;
	if (!database_open(&small, rows, SMALL) || !database_open(&large, rows, TIMES * SMALL))
		return;
	const char *const text = "SELECT max(visited) FROM nested_ranges('PROJECTION_SWEEP')";
	int64_t few =
		sql_run(&small, report_shared("launch_calls"), NULL) ? 0 : number(&small, text);
	int64_t many =
		sql_run(&large, report_shared("launch_calls"), NULL) ? 0 : number(&large, text);
	check(few > 0 && (double)many <= GROWTH * TIMES * (double)few,
		"%" PRId64 " open ranges are looked at, %" PRId64 " in %d times the rows, although "
		"ranges cross",
		few, many, TIMES);
	check(number(&large,
		      "SELECT count(*) FROM (SELECT r.range AS id, count(*) AS n, min(o.first), "
		      "max(o.last) FROM PROJECTION_SWEEP AS r JOIN PROJECTION_SWEEP AS o ON "
		      "o.thread = r.thread AND o.start >= r.start AND o.\"end\" <= r.\"end\" WHERE "
		      "r.range NOT NULL AND o.range IS NULL GROUP BY r.range EXCEPT SELECT id, "
		      "operations, first, last FROM nested_ranges('PROJECTION_SWEEP'))") == 0,
		"each range has the operations that a join of all pairs finds");
	check(number(&large,
		      "SELECT count(*) FROM (SELECT i.range, o.range FROM THREAD_RANGES AS i JOIN "
		      "THREAD_RANGES AS o ON o.thread = i.thread AND o.start < i.start AND "
		      "o.\"end\" >= i.\"end\" GROUP BY i.range HAVING max(o.start) EXCEPT SELECT "
		      "id, "
		      "parent FROM nested_ranges('PROJECTION_SWEEP'))") == 0,
		"and the parent that is the last to begin of those that contain it");
	check(number(&large,
		      "SELECT count(*) FROM nested_ranges('PUSH_POP_SWEEP') WHERE level <> "
		      "length(stack) - length(replace(stack, ':', '')) - 1 OR children <> (level < "
		      "3)") == 0,
		"level, stack and children agree");
	check(number(&large, "SELECT count(*) FROM nested_ranges('NOT_THERE')") == -1 &&
			number(&large, "SELECT count(*) FROM nested_ranges") == -1,
		"a view that is not there is an error: %s", large.cause);
	sql_close(&small);
	sql_close(&large);
}

/* Check that a limit of what launches of graphs run leaves out the last launches, as a whole. Each
 * of three launches (flagged: the memory of the launch before is freed first) takes five steps. */
static void last_launches_are_left_out(void)
{
	static const char graph[] =
		"DELETE FROM LIBTRACE_CUDA_MAPPING;"
		"INSERT INTO LIBTRACE_CUDA_MAPPING (timestamp, globalTid, operation, handle, "
		"address, bytes, graphId, graphFlags) "
		"VALUES (1, 1 << 24, 10, NULL, 4096, 8, 1, NULL), "
		"(2, 1 << 24, 10, NULL, 8192, 8, 1, NULL), (3, 1 << 24, 11, NULL, 4096, NULL, 1, "
		"NULL), (4, 1 << 24, 12, 5, NULL, NULL, 1, 1), (5, 1 << 24, 10, NULL, 512, 8, 1, "
		"NULL), "
		"(100, 1 << 24, 13, 5, NULL, NULL, NULL, NULL), (200, 1 << 24, 14, 5, NULL, NULL, "
		"NULL, NULL), (300, 1 << 24, 13, 5, NULL, NULL, NULL, NULL), (400, 1 << 24, 13, 5, "
		"NULL, NULL, NULL, NULL);";
	static const struct {
		const char *limit;
		int64_t launches, allocations, last;
	} rows_of[] = {{"00000015", 3, 6, 399}, {"00000014", 2, 4, 299}, {"00000004", 0, 0, -1}};
	char path[96], *text = strdup(report_shared("cuda_memory_use"));
	char *limit = text ? strstr(text, "> 10000000 AS left_out") : NULL;
	for (size_t i = 0; limit && i < sizeof(rows_of) / sizeof(rows_of[0]); i++) {
		sqlite3 *base = NULL;
		struct sql s;
		snprintf(path, sizeof(path), "%s/graph.sqlite", folder);
		bool made = !sqlite3_open(path, &base) &&
			!sqlite3_exec(base, tables, NULL, NULL, NULL) &&
			!sqlite3_exec(base, graph, NULL, NULL, NULL);
		sqlite3_close(base);
		memcpy(limit + 2, rows_of[i].limit, 8);
		made = made && !sql_open(&s, path) && !views_make(&s) && !sql_run(&s, text, NULL);
		unlink(path);
		const int64_t launches = number(&s,
			"SELECT count(*) FROM CUDA_GRAPH_LAUNCHES WHERE NOT failed AND NOT "
			"left_out");
		const int64_t allocations = number(&s, "SELECT count(*) FROM CUDA_ALLOCATIONS");
		const int64_t last =
			number(&s, "SELECT coalesce(max(start), -1) FROM CUDA_ALLOCATIONS");
		check(made && launches == rows_of[i].launches &&
				allocations == rows_of[i].allocations && last == rows_of[i].last,
			"at most %s steps of graphs: %" PRId64 " launches, %" PRId64
			" allocations, the last one at %" PRId64 " %s",
			rows_of[i].limit, launches, allocations, last, s.cause);
		sql_close(&s);
	}
	check(limit != NULL, "the limit is where it is expected");
	free(text);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	work_grows_as_rows_do();
	shared_tables_grow_as_rows_do();
	graph_needs_few_frames();
	sweep_visits_what_is_open();
	last_launches_are_left_out();
	rmdir(folder);
	return tap_done();
}

#endif
