/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview.c - the facts that `trace report` shows before the events of a file.
 */
#define _GNU_SOURCE
#include "reader/cli/report/overview.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/redact.h"
#include "reader/base/print.h"
#include "reader/cli/info/info.h"
#include "reader/cli/report/overview_fact.h"
#include "reader/cli/report/overview_xspace.h"
#include "reader/xspace/xspace.h"

#define COMMAND_BYTES 300u

static void session_add(struct overview *o, const struct info *i)
{
	const Libtrace__Session *s = i->c.session;
	const Libtrace__SessionDetails *d = i->c.details;
	char text[OVERVIEW_TIME_BYTES], end[100];
	if (d && d->command_line)
		overview_fact(o, "command", "%.*s%s", (int)COMMAND_BYTES, d->command_line,
			strlen(d->command_line) > COMMAND_BYTES ? " ..." : "");
	if (info_program_end(i, end, sizeof(end)))
		overview_fact(o, "ended", "%s", end);
	if (!s)
		return;
	overview_fact(
		o, "began", "%s", overview_time((int64_t)s->start_realtime_ns, text) ? text : "?");
	if (i->c.first_ns <= i->c.last_ns && i->c.last_ns >= s->start_ns)
		overview_fact(o, "lasted", "%.6f s", (double)(i->c.last_ns - s->start_ns) / 1e9);
	overview_fact(o, "host", "%s", s->hostname ? s->hostname : "?");
	overview_fact(o, "system", "%s, %s, %u processors", s->kernel ? s->kernel : "?",
		s->processor ? s->processor : "?", s->cpu_count);
	overview_fact(o, "version", "%s", s->library_version ? s->library_version : "?");
}

/* Add the sums of all processes' receipts. */
static void receipt_add(struct overview *o, const struct info *i)
{
	uint64_t produced = 0, written = 0, summarized = 0, tracer_ns = 0, error_ns = 0, breaks = 0;
	uint64_t chains = 0, chains_cut = 0;
	char count[128];
	for (size_t n = 0; n < i->c.processes.count; n++) {
		const Libtrace__Receipt *r = i->c.processes.rows[n]->receipt;
		produced += r ? r->produced : 0;
		written += r ? r->written : 0;
		summarized += r ? r->summarized : 0;
		tracer_ns += r ? r->tracer_ns : 0;
		error_ns = r && r->clock_error_ns > error_ns ? r->clock_error_ns : error_ns;
		breaks = r && r->clock_breaks > breaks ? r->clock_breaks : breaks;
		chains += r ? r->callchains : 0;
		chains_cut += r ? r->callchains_cut : 0;
	}
	info_process_count(&i->c.processes, count, sizeof(count));
	overview_fact(o, "processes", "%s", count);
	overview_fact(o, "receipt",
		"%" PRIu64 " events produced, %" PRIu64 " written, %" PRIu64 " dropped, %" PRIu64
		" summed up",
		produced, written, i->dropped, summarized);
	if (chains_cut)
		overview_fact(o, "callchains cut",
			"%" PRIu64 " of %" PRIu64
			", at the outer end; --osrt-backtrace-depth sets the number of frames",
			chains_cut, chains);
	overview_fact(o, "tracer's own time", "%.6f s", (double)tracer_ns / 1e9);
	if (error_ns >= UINT32_MAX)
		overview_fact(o, "clock", breaks ? "error unknown" : "rate estimated");
	else
		overview_fact(o, "clock", "error at most %" PRIu64 " ns", error_ns);
	if (breaks)
		overview_fact(o, "clock discontinuities", "%" PRIu64, breaks);
}

static void notes_add(struct overview *o, const struct contents *c)
{
	for (uint64_t n = 0; n < c->diagnostic_count; n++) {
		const Libtrace__Diagnostic *d =
			n < DIAGNOSTICS_KEPT && n < OVERVIEW_NOTES_MAX ? c->diagnostics[n] : NULL;
		if (!d ||
			asprintf(&o->notes[o->note_count], "%u: %.300s", d->pid,
				d->text ? d->text : "") < 0)
			o->notes_left_out++;
		else
			o->note_count++;
	}
}

static int report_gather(struct overview *o, const char *file, bool no_wait)
{
	struct info i = {.r.quiet = true};
	if (info_gather(&i, file, no_wait))
		return STATUS_FAILED;
	o->is_report = true;
	o->complete = info_verdict(&i, o->verdict, sizeof(o->verdict));
	overview_fact(o, "size", "%" PRIu64 " bytes", i.r.report.source.size);
	session_add(o, &i);
	receipt_add(o, &i);
	notes_add(o, &i.c);
	info_release(&i);
	return STATUS_OK;
}

int overview_gather(struct overview *o, const char *file, bool no_wait)
{
	*o = (struct overview){0};
	overview_fact(o, "file", "%s", file);
	if (!sql_file_is_foreign(file))
		return report_gather(o, file, no_wait);
	snprintf(o->verdict, sizeof(o->verdict),
		"none: only a report of libtrace has one; this is %s",
		sql_is_database(file) ? "a database" : "an XSpace of a profiler");
	o->is_xspace = xspace_is(file);
	int error = o->is_xspace ? overview_add_xspace(o, file) : 0;
	if (error)
		cli_error("cannot read '%s': %s", file, strerror(-error));
	return error ? STATUS_FAILED : STATUS_OK;
}

/* ---- facts of a database ---- */

#define OF_PROGRAM \
	"FROM main.LIBTRACE_PROCESS AS p JOIN main.LIBTRACE_REPORT AS r ON p.pid = r.rootPid "
/* SQL for the exporter of the database; nsys before 2023 used another table for this. */
#define VERSION_FACT(table)                                                  \
	"WITH m AS (SELECT name, value FROM main." table ") "                \
	"SELECT 'version', p.value || coalesce(' ' || (SELECT value FROM m " \
	"WHERE name IN ('LIBTRACE_VERSION', 'EXPORT_PRODUCT_VERSION') "      \
	"ORDER BY name DESC), '') || coalesce(', schema ' || (SELECT value " \
	"FROM m WHERE name = 'EXPORT_SCHEMA_VERSION'), '') FROM m AS p "     \
	"WHERE p.name = 'EXPORT_PRODUCT_NAME'"

/* Statements whose rows are facts: label and value. They run only where the file has `table` and
 * `column`. */
static const struct {
	const char *table, *column, *statement;
} queries[] = {
	{"TARGET_INFO_GPU", "name",
		"SELECT 'GPU', group_concat(CASE n WHEN 1 THEN '' ELSE n || ' x ' END || name, "
		"', ') FROM (SELECT name, count(*) AS n FROM main.TARGET_INFO_GPU WHERE name <> '' "
		"GROUP BY name)"},
	{"META_DATA_EXPORT", "value", VERSION_FACT("META_DATA_EXPORT")},
	{"EXPORT_META_DATA", "value", VERSION_FACT("EXPORT_META_DATA")},
	{"TARGET_INFO_SESSION_START_TIME", "utcTime",
		"SELECT 'began', replace(utcTime, 'T', ' ') || ' UTC' "
		"FROM main.TARGET_INFO_SESSION_START_TIME"},
	{"ANALYSIS_DETAILS", "duration",
		"SELECT 'lasted', printf('%.6f s', duration / 1e9) FROM main.ANALYSIS_DETAILS "
		"WHERE duration > 0"},
	{"TARGET_INFO_SYSTEM_ENV", "value",
		"SELECT 'host', value FROM main.TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'"},
	{"TARGET_INFO_SYSTEM_ENV", "value",
		"SELECT 'system', group_concat(value || CASE name WHEN 'CpuCores' "
		"THEN ' processors' ELSE '' END, ', ') FROM (SELECT DISTINCT name, value "
		"FROM main.TARGET_INFO_SYSTEM_ENV WHERE name IN ('OsDescription', "
		"'CpuDescription', 'CpuCores') AND value <> '' ORDER BY name DESC)"},
	{"LIBTRACE_REPORT", "rootPid",
		"SELECT 'command', arguments || CASE argumentsTruncated WHEN 0 THEN '' "
		"ELSE ' ...' END " OF_PROGRAM "WHERE arguments <> '' ORDER BY p.processId"},
	{"LIBTRACE_REPORT", "rootPid",
		"SELECT 'ended', CASE endHow WHEN 'exit' THEN "
		"coalesce('exit ' || exitStatus, 'exit with unknown status') WHEN 'killed' THEN "
		"'killed' ELSE 'still running when the report was closed' END " OF_PROGRAM
		"WHERE endHow IS NOT 'exec' ORDER BY p.processId DESC"},
};

/* Add a fact that is not known yet. */
static int row_add(void *user, const struct sql_value *v, int count)
{
	struct overview *o = user;
	bool known = false;
	for (size_t i = 0; count == 2 && i < o->count; i++)
		known |= !strcmp(o->rows[i].label, v[0].text);
	if (count == 2 && v[1].type == SQL_TEXT && !known)
		overview_fact(o, v[0].text, "%.*s%s", (int)COMMAND_BYTES, v[1].text,
			strlen(v[1].text) > COMMAND_BYTES ? " ..." : "");
	return 0;
}

/* The command line of a database, whose program and arguments are rows. */
struct command {
	char text[COMMAND_BYTES];
	size_t bytes;
	bool hide, cut, any;
};

static int word_add(void *user, const struct sql_value *v, int count)
{
	struct command *c = user;
	if (count != 1 || v[0].type != SQL_TEXT)
		return 0;
	char *copy = strndup(v[0].text, v[0].bytes);
	size_t bytes = copy ? strlen(copy) : 0, room = sizeof(c->text) - c->bytes;
	const char *shown = !copy || !c->any ? copy : redact_argument(&c->hide, copy, &bytes);
	int more = shown
		? snprintf(c->text + c->bytes, room, "%s%.*s", c->any ? " " : "", (int)bytes, shown)
		: 0;
	c->cut |= more < 0 || (size_t)more >= room;
	c->bytes = c->cut ? sizeof(c->text) - 1 : c->bytes + (size_t)more;
	c->any = true;
	free(copy);
	return shown ? 0 : -ENOMEM;
}

/* Run a statement for facts. A table of another shape has none, which is not an error. */
static int facts_run(struct sql *s, const char *statement, const struct sql_visitor *visitor)
{
	int error = sql_run(s, statement, visitor);
	return error == -EINTR || error == -ENOMEM ? error : 0;
}

static int command_add(struct overview *o, struct sql *s)
{
	static const char words[] = "SELECT value FROM main.META_DATA_CAPTURE "
				    "WHERE name = 'PROCESS_0:COMMAND' "
				    "OR name GLOB 'PROCESS_0:ARGUMENT_[0-9]*' ORDER BY rowid";
	struct command c = {.bytes = 0};
	const struct sql_visitor visitor = {&c, NULL, word_add};
	int has = sql_has(s, "META_DATA_CAPTURE", "value");
	int error = has < 0 ? has : has ? facts_run(s, words, &visitor) : 0;
	if (c.any)
		overview_fact(o, "command", "%s%s", c.text, c.cut ? " ..." : "");
	return error;
}

int overview_add_database(struct overview *o, struct sql *s)
{
	const struct sql_visitor visitor = {o, NULL, row_add};
	int error = o->is_report ? 0 : command_add(o, s); /* a report's own has argument 0 */
	for (size_t i = 0; !error && i < sizeof(queries) / sizeof(queries[0]); i++) {
		int has = sql_has(s, queries[i].table, queries[i].column);
		error = has < 0 ? has : has ? facts_run(s, queries[i].statement, &visitor) : 0;
	}
	return error;
}

void overview_release(struct overview *o)
{
	for (size_t n = 0; n < o->count; n++)
		free(o->rows[n].value);
	for (size_t n = 0; n < o->note_count; n++)
		free(o->notes[n]);
}
