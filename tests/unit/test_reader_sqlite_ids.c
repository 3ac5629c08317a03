/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_sqlite_ids.c - checks which rows of a database belong to which process: reused pids,
 * exec, several reports, names, and reports with random numbers.
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

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "reader/export/sqlite/export.h"
#include "reader/file/schema.h"
#include "tests/unit/make_report.h"

#define START UINT64_C(1000000) /* of the session */

static char folder[] = "/tmp/test_reader_sqlite_ids.XXXXXX";
static char path[80];
static sqlite3 *base;

static void same(const char *what, const char *sql, const char *wanted)
{
	sqlite3_stmt *s = NULL;
	char got[1024] = "";
	size_t used = 0;
	if (sqlite3_prepare_v2(base, sql, -1, &s, NULL))
		used = (size_t)snprintf(got, sizeof(got), "%s", sqlite3_errmsg(base));
	while (s && sqlite3_step(s) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(s); i++) {
			const char *text = (const char *)sqlite3_column_text(s, i);
			used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%s",
				!used       ? ""
					: i ? " "
					    : "; ",
				text ? text : "-");
		}
	sqlite3_finalize(s);
	check(!strcmp(got, wanted), "%s: %s", what, got);
	if (strcmp(got, wanted))
		printf("# wanted %s\n", wanted);
}

static void call(struct make_report *m, uint32_t process, uint32_t tid, uint64_t start)
{
	const struct make_call calls[] = {{.start = START + start, .duration = 10, .function = 1}};
	make_calls(m, process, tid, 1, calls);
}

static void named(struct make_report *m, uint32_t process, uint32_t tid, const char *name)
{
	const int64_t row[] = {START, make_string(m, name), 0, 0, 20};
	make_batch(m, KIND_THREAD_START, process, tid, 1, 5, row);
}

/* Build a report: process 1 ends and process 2 gets its pid; 2 execs and becomes 3. Process 4 has
 * another pid. */
static void make_reused(struct make_report *m)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Process facts = LIBTRACE__PROCESS__INIT;
	make_init(m, false);
	make_session(m, START);
	make_string(m, "read");
	make_process(m, 1, 500, 1, "/bin/first");
	make_process_end(m, 1, START + 100, LIBTRACE__PROCESS_END__END_EXIT, 0);
	make_process(m, 2, 500, 1, "/bin/second");
	make_process_end(m, 2, START + 300, LIBTRACE__PROCESS_END__END_EXEC, 0);
	make_process(m, 3, 500, 1, "/bin/third");
	make_process(m, 4, 501, 1, "/bin/other");
	const uint64_t starts[] = {0, 200, 300, 50};
	for (uint32_t i = 0; i < 4; i++) {
		libtrace__process__init(&facts);
		facts.has_id = facts.has_start_ns = true;
		facts.id = i + 1;
		facts.start_ns = START + starts[i];
		facts.has_previous_id = facts.previous_id = i == 2 ? 2 : 0;
		facts.has_previous_id = i == 2;
		entry.process = &facts;
		make_entry(m, &entry);
	}
	named(m, 1, 500, "of the first");
	named(m, 2, 500, "of the second");
	for (uint32_t i = 0; i < 4; i++)
		call(m, i + 1, i == 3 ? 501 : 500, starts[i]);
	make_block_end(m);
}

static void exported(uint32_t reports)
{
	struct make_report m[2];
	struct report opened[2];
	struct sqlite_source sources[2];
	struct sqlite_result result;
	const char *cause;
	sqlite3_close(base);
	for (uint32_t i = 0; i < reports; i++) {
		make_reused(&m[i]);
		report_open_memory(&opened[i], m[i].data, m[i].bytes, &cause);
		sources[i] = (struct sqlite_source){&opened[i], {NULL, NULL, NULL, NULL}, NULL};
	}
	snprintf(path, sizeof(path), "%s/ids.sqlite", folder);
	const struct sqlite_job job = {
		.output = path, .overwrite = true, .sources = sources, .count = reports};
	check(!sqlite_export(&job, &result), "%u reports exported %s", reports, result.cause);
	for (uint32_t i = 0; i < reports; i++) {
		report_close(&opened[i]);
		make_release(&m[i]);
	}
	if (sqlite3_open(path, &base))
		exit(1);
}

#define PARTS(id) id " >> 48, " id " >> 24 & 0xffffff, " id " & 0xffffff"

static void reused(void)
{
	same("a reused pid is another process, a process after exec is the same one",
		"SELECT start, " PARTS("globalTid") " FROM OSRT_API ORDER BY start",
		"0 1 500 500; 50 1 501 501; 200 2 500 500; 300 2 500 500");
	same("each process has its row",
		"SELECT " PARTS("globalPid") ", pid, name "
					     "FROM PROCESSES ORDER BY globalPid",
		"1 500 0 500 first; 1 501 0 501 other; 2 500 0 500 third");
	same("each thread has its name",
		"SELECT " PARTS("globalTid") ", value, priority FROM ThreadNames "
					     "JOIN StringIds ON id = nameId ORDER BY globalTid",
		"1 500 500 of the first 20; 1 501 501 other -; 2 500 500 of the second 20");
	same("LIBTRACE_PROCESS maps process ids to rows",
		"SELECT processId, globalPid >> 48, executable FROM LIBTRACE_PROCESS "
		"ORDER BY processId",
		"1 1 /bin/first; 2 2 /bin/second; 3 2 /bin/third; 4 1 /bin/other");
}

static void several(void)
{
	same("processes of a second report have ids of their own",
		"SELECT globalTid >> 48, count(*) FROM OSRT_API GROUP BY 1", "1 2; 2 2; 3 2; 4 2");
	same("each call belongs to exactly one thread",
		"SELECT count(*), (SELECT count(*) FROM OSRT_API JOIN ThreadNames USING "
		"(globalTid)) "
		"FROM OSRT_API",
		"8 8");
	same("each call belongs to exactly one process",
		"SELECT count(*) FROM OSRT_API a JOIN PROCESSES p "
		"ON p.globalPid = (a.globalTid & ~0xffffff)",
		"8");
	same("each report has an id of its own", "SELECT globalVid >> 48 FROM LIBTRACE_REPORT",
		"1; 3");
}

/* Return the next number of xorshift: the same numbers in each run. */
static uint64_t random_number(void)
{
	static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Return a small number, an id that exists or does not, a limit, or a random number. */
static int64_t hostile_number(void)
{
	const uint64_t n = random_number();
	switch (n % 5) {
	case 0:
		return (int64_t)(n >> 8 & 7);
	case 1:
		return (int64_t)(n >> 8 & 0xff);
	case 2:
		return INT64_MIN >> (n >> 8) % 64;
	case 3:
		return INT64_MAX >> (n >> 8) % 64;
	default:
		return (int64_t)n;
	}
}

static void make_hostile(struct make_report *m)
{
	static const char *const texts[] = {"_Z", "_ZN1aIJEE1bEv", "x<y>(z)", "(((", ">>>", ")", "",
		"\xff\xfe(", "LIBTRACE_\"; DROP TABLE StringIds; --",
		"0123456789abcdef0123456789ABCDEF"};
	enum { ROWS = 20 };
	int64_t values[ROWS * SCHEMA_FIELDS];
	const struct schema_event *e;
	make_init(m, true);
	make_session(m, START);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		make_string(m, texts[i]);
	make_process(m, 1, UINT32_MAX, 1, "\xc3(");
	make_process(m, 2, 0, UINT32_MAX, "");
	for (uint32_t n = 0; (e = schema_event_at(n)); n++) {
		for (uint32_t i = 0; i < ROWS * e->field_count; i++)
			values[i] = hostile_number();
		/* the number of modules is bounded, and other events look at their times */
		if (e->number == KIND_MODULE_LOAD || e->number == KIND_MODULE_UNLOAD)
			continue;
		make_batch(m, e->number, (uint32_t)(random_number() % 4), (uint32_t)random_number(),
			ROWS, e->field_count, values);
	}
	make_block_end(m);
}

static void hostile(void)
{
	struct make_report m;
	struct report report;
	struct sqlite_result result;
	const char *cause;
	uint32_t sound = 0, rounds = 30;
	for (uint32_t i = 0; i < rounds; i++) {
		make_hostile(&m);
		report_open_memory(&report, m.data, m.bytes, &cause);
		const struct sqlite_source source = {&report, {NULL, NULL, NULL, NULL}, NULL};
		const struct sqlite_job job = {.output = path,
			.overwrite = true,
			.generation = i % NSYS_GENERATIONS,
			.sources = &source,
			.count = 1};
		sqlite3_stmt *s = NULL;
		sqlite3_close(base);
		base = NULL;
		int error = sqlite_export(&job, &result);
		if (error || sqlite3_open(path, &base))
			printf("# round %u: %s\n", i, result.cause);
		else if (!sqlite3_prepare_v2(base,
				 "SELECT group_concat(integrity_check) = 'ok' AND (SELECT count(*) "
				 "FROM StringIds) > 10 FROM pragma_integrity_check",
				 -1, &s, NULL) &&
			sqlite3_step(s) == SQLITE_ROW)
			sound += sqlite3_column_int(s, 0) == 1;
		sqlite3_finalize(s);
		report_close(&report);
		make_release(&m);
	}
	check(sound == rounds, "reports with random numbers give sound databases: %u of %u", sound,
		rounds);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	exported(1);
	reused();
	exported(2);
	several();
	hostile();
	sqlite3_close(base);
	remove(path);
	remove(folder);
	return tap_done();
}

#endif
