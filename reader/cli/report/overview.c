/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview.c - the facts that `trace report` shows before the events of a file.
 */
#define _GNU_SOURCE
#include "reader/cli/report/overview.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reader/base/print.h"
#include "reader/cli/info/info.h"

#define COMMAND_BYTES 300u

__attribute__((format(printf, 3, 4))) static void fact_add(
	struct overview *o, const char *label, const char *format, ...)
{
	va_list arguments;
	char *value = NULL;
	va_start(arguments, format);
	if (o->count < OVERVIEW_ROWS_MAX && vasprintf(&value, format, arguments) >= 0) {
		o->rows[o->count].label = label;
		o->rows[o->count++].value = value;
	}
	va_end(arguments);
}

static void session_add(struct overview *o, const struct info *i)
{
	const Libtrace__Session *s = i->c.session;
	const Libtrace__SessionDetails *d = i->c.details;
	time_t seconds = s ? (time_t)(s->start_realtime_ns / 1000000000) : 0;
	struct tm utc;
	char text[64] = "?";
	if (d && d->command_line)
		fact_add(o, "command", "%.*s%s", (int)COMMAND_BYTES, d->command_line,
			strlen(d->command_line) > COMMAND_BYTES ? " ..." : "");
	if (!s)
		return;
	if (gmtime_r(&seconds, &utc))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &utc);
	fact_add(o, "began", "%s", text);
	if (i->c.first_ns <= i->c.last_ns && i->c.last_ns >= s->start_ns)
		fact_add(o, "lasted", "%.6f s", (double)(i->c.last_ns - s->start_ns) / 1e9);
	fact_add(o, "host", "%s", s->hostname ? s->hostname : "?");
	fact_add(o, "system", "%s, %s, %u processors", s->kernel ? s->kernel : "?",
		s->processor ? s->processor : "?", s->cpu_count);
	fact_add(o, "version", "%s", s->library_version ? s->library_version : "?");
}

/* Add the sums of all processes' receipts. */
static void receipt_add(struct overview *o, const struct info *i)
{
	uint64_t produced = 0, written = 0, summarized = 0, tracer_ns = 0, error_ns = 0, breaks = 0;
	for (size_t n = 0; n < i->c.processes.count; n++) {
		const Libtrace__Receipt *r = i->c.processes.rows[n]->receipt;
		produced += r ? r->produced : 0;
		written += r ? r->written : 0;
		summarized += r ? r->summarized : 0;
		tracer_ns += r ? r->tracer_ns : 0;
		error_ns = r && r->clock_error_ns > error_ns ? r->clock_error_ns : error_ns;
		breaks = r && r->clock_breaks > breaks ? r->clock_breaks : breaks;
	}
	fact_add(o, "processes", "%zu", i->c.processes.count);
	fact_add(o, "receipt",
		"%" PRIu64 " events produced, %" PRIu64 " written, %" PRIu64 " dropped, %" PRIu64
		" summed up",
		produced, written, i->dropped, summarized);
	fact_add(o, "tracer's own time", "%.6f s", (double)tracer_ns / 1e9);
	if (error_ns >= UINT32_MAX)
		fact_add(o, "clock", breaks ? "error unknown" : "rate estimated");
	else
		fact_add(o, "clock", "error at most %" PRIu64 " ns", error_ns);
	if (breaks)
		fact_add(o, "clock discontinuities", "%" PRIu64, breaks);
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
	fact_add(o, "size", "%" PRIu64 " bytes", i.r.report.source.size);
	session_add(o, &i);
	receipt_add(o, &i);
	notes_add(o, &i.c);
	info_release(&i);
	return STATUS_OK;
}

int overview_gather(struct overview *o, const char *file, bool no_wait)
{
	*o = (struct overview){0};
	fact_add(o, "file", "%s", file);
	if (!sql_file_is_foreign(file))
		return report_gather(o, file, no_wait);
	snprintf(o->verdict, sizeof(o->verdict),
		"none: only a report of libtrace has one; this is %s",
		sql_is_database(file) ? "a database" : "an XSpace of a profiler");
	return STATUS_OK;
}

void overview_release(struct overview *o)
{
	for (size_t n = 0; n < o->count; n++)
		free(o->rows[n].value);
	for (size_t n = 0; n < o->note_count; n++)
		free(o->notes[n]);
}
