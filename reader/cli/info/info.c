/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info.c - `trace info` of a report, as text.
 *
 * Prints the processes, the events, the times, and whether anything is missing or why nothing was
 * recorded.
 */
#include "reader/cli/info/info.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reader/base/print.h"
#include "reader/cli/base/input.h"
#include "reader/cli/base/message.h"

/* Return whether every process has events of this kind, whatever it did. */
static bool is_background(uint32_t kind)
{
	switch (kind) {
	case KIND_THREAD_START:
	case KIND_THREAD_END:
	case KIND_THREAD_NAME:
	case KIND_GAP:
	case KIND_CHILD:
	case KIND_MODULE_LOAD:
	case KIND_MODULE_UNLOAD:
	case KIND_PYTHON_CODE:
	case KIND_CUDA_SETUP:
	case KIND_CUDA_RECEIPT:
		return true;
	default:
		return false;
	}
}

bool info_events_empty(const uint64_t *events)
{
	for (uint32_t kind = 0; kind < SCHEMA_KINDS; kind++)
		if (events[kind] && !is_background(kind))
			return false;
	return true;
}

/* Return whether the report is whole. Events that cannot be read any more may have been the only
 * events. */
static bool is_whole(const struct info *i)
{
	return !i->r.problems && !i->r.report.unfinished && !i->c.tally.torn_bytes && !i->dropped &&
		!i->damaged_lanes && !i->unaccounted && !i->unended;
}

bool info_is_empty(const struct info *i)
{
	return is_whole(i) && i->c.session && i->c.tally.blocks && !i->c.tally.results &&
		info_events_empty(i->c.events);
}

/* Return the value of an option of the recording; "" = unknown. */
static const char *option_of(const Libtrace__Session *s, const char *name)
{
	size_t bytes = strlen(name);
	for (size_t n = 0; s && n < s->n_options; n++)
		if (!strncmp(s->options[n], name, bytes) && s->options[n][bytes] == '=')
			return s->options[n] + bytes + 1;
	return "";
}

__attribute__((format(printf, 3, 4))) static void reason_add(
	char *text, size_t bytes, const char *format, ...)
{
	va_list arguments;
	size_t used = strlen(text);
	if (used)
		used += (size_t)snprintf(text + used, bytes - used, "; ");
	if (used >= bytes)
		return;
	va_start(arguments, format);
	vsnprintf(text + used, bytes - used, format, arguments);
	va_end(arguments);
}

static void sources_add(const Libtrace__Session *s, char *text, size_t bytes)
{
	const char *sources = option_of(s, "trace");
	bool of_domains =
		*option_of(s, "nvtx_domain_include") || *option_of(s, "nvtx_domain_exclude");
	if (!strcmp(sources, "none"))
		reason_add(text, bytes, "recording was switched off (trace=none)");
	if (strstr(sources, "osrt"))
		reason_add(text, bytes,
			"no call of the C library was seen (those of statically linked programs "
			"and raw system calls cannot be)");
	if (strstr(sources, "nvtx"))
		reason_add(text, bytes, "no NVTX call was made%s",
			of_domains ? " in the selected domains" : "");
	if (strstr(sources, "cuda"))
		reason_add(text, bytes, "CUDA was not used, or could not be recorded");
	if (*sources && strcmp(sources, "none") != 0 && !strstr(sources, "osrt"))
		reason_add(text, bytes, "no other sources were selected (trace=%.40s)", sources);
}

void info_empty_reasons(const struct info *i, char *ret_text, size_t bytes)
{
	*ret_text = 0;
	if (info_never_began(i)) {
		reason_add(ret_text, bytes,
			"recording never began: the delay did not end, or no capture range began");
		return;
	}
	if (i->c.windows.entry_count)
		reason_add(ret_text, bytes, "only events that began in its windows were recorded");
	if (i->untraced)
		reason_add(ret_text, bytes,
			i->untraced == 1 ? "%llu process was not traced"
					 : "%llu processes were not traced",
			(unsigned long long)i->untraced);
	sources_add(i->c.session, ret_text, bytes);
	if (i->c.diagnostic_count)
		reason_add(ret_text, bytes, "see the diagnostics of 'trace info'");
}

__attribute__((format(printf, 3, 4))) static void verdict_add(
	char *text, size_t bytes, const char *format, ...)
{
	va_list arguments;
	size_t used = strlen(text);
	if (used && used + 2 < bytes) {
		strcat(text, "; ");
		used += 2;
	}
	va_start(arguments, format);
	vsnprintf(text + used, bytes - used, format, arguments);
	va_end(arguments);
}

/* Return the ending of a plural noun: `many`, or "" for 1. */
static const char *plural(uint64_t count, const char *many)
{
	return count == 1 ? "" : many;
}

/* Return whether the program of the session runs on this machine now. */
static bool program_runs(const Libtrace__Session *s)
{
	char boot[64] = "";
	FILE *file = s && s->root_pid && s->boot_id ? fopen("/proc/sys/kernel/random/boot_id", "re")
						    : NULL;
	bool is_here = file && fgets(boot, sizeof(boot), file);
	if (file)
		fclose(file);
	boot[strcspn(boot, "\n")] = 0;
	return is_here && !strcmp(boot, s->boot_id) &&
		(!kill((pid_t)s->root_pid, 0) || errno == EPERM);
}

/* Append the problems of the file itself. */
static void verdict_file(const struct info *i, char *text, size_t bytes)
{
	const struct walk_tally *t = &i->c.tally;
	if (i->r.problems)
		verdict_add(text, bytes, "damaged: %" PRIu64 " problem%s; see 'trace check'",
			i->r.problems, plural(i->r.problems, "s"));
	if (t->torn_bytes)
		verdict_add(text, bytes,
			"torn tail: the last %" PRIu64 " bytes are an incomplete block",
			t->torn_bytes);
	if (i->r.report.unfinished && program_runs(i->c.session))
		verdict_add(text, bytes,
			"still being written: the program is still running, PID %" PRIu32,
			i->c.session->root_pid);
	else if (i->r.report.unfinished)
		verdict_add(text, bytes, "still being written");
}

/* Append the captured events that are missing. */
static void verdict_losses(const struct info *i, char *text, size_t bytes)
{
	if (i->dropped)
		verdict_add(text, bytes, "%" PRIu64 " event%s dropped", i->dropped,
			plural(i->dropped, "s"));
	if (i->damaged_lanes)
		verdict_add(text, bytes, "%" PRIu64 " thread%s with events that could not be read",
			i->damaged_lanes, plural(i->damaged_lanes, "s"));
	if (i->unaccounted)
		verdict_add(text, bytes, "%" PRIu64 " event%s unaccounted for", i->unaccounted,
			plural(i->unaccounted, "s"));
	if (i->unended && !i->r.report.unfinished)
		verdict_add(text, bytes,
			"%" PRIu64 " process%s without a receipt, since the writer did not finish; "
			"try 'trace recover'",
			i->unended, plural(i->unended, "es"));
	if (i->damage)
		verdict_add(text, bytes, "%" PRIu64 " diagnostic%s about damage; see 'trace info'",
			i->damage, plural(i->damage, "s"));
	if (i->untraced)
		verdict_add(text, bytes, "%" PRIu64 " process%s not traced", i->untraced,
			plural(i->untraced, "es"));
	if (i->partly)
		verdict_add(text, bytes, "%" PRIu64 " process%s traced in part", i->partly,
			plural(i->partly, "es"));
}

bool info_verdict(const struct info *i, char *ret_text, size_t bytes)
{
	if (*i->source.format) {
		snprintf(ret_text, bytes, "none: only a report of libtrace has one");
		return false;
	}
	const struct walk_tally *t = &i->c.tally;
	*ret_text = 0;
	if (t->foreign_blocks == t->blocks && t->blocks && !i->r.problems && !t->torn_bytes) {
		snprintf(ret_text, bytes,
			t->results ? "a report of Nsight Compute, not written by libtrace: it has "
				     "kernel results and no OS runtime events; see 'trace details'"
				   : "not written by libtrace: it has no OS runtime events");
		return false;
	}
	verdict_file(i, ret_text, bytes);
	verdict_losses(i, ret_text, bytes);
	bool complete = !*ret_text && t->blocks;
	if (!*ret_text)
		snprintf(
			ret_text, bytes, t->blocks ? "complete: nothing lost" : "empty: no blocks");
	if (info_is_empty(i)) {
		char reasons[EMPTY_REASONS_BYTES];
		info_empty_reasons(i, reasons, sizeof(reasons));
		verdict_add(ret_text, bytes, "but it has no events: %s", reasons);
	}
	return complete;
}

bool info_never_began(const struct info *i)
{
	static const struct {
		const char *name, *always;
	} options[] = {{"capture_range=", "none"}, {"delay_ns=", "0"}};
	const Libtrace__Session *s = i->c.session;
	bool waits = false;
	for (size_t n = 0; s && !i->c.windows.last && n < s->n_options; n++)
		for (size_t k = 0; k < 2; k++) {
			size_t bytes = strlen(options[k].name);
			waits |= !strncmp(s->options[n], options[k].name, bytes) &&
				strcmp(s->options[n] + bytes, options[k].always) != 0;
		}
	return waits;
}

#define OPTIONS_WIDTH 110u

/* Print several texts on a line. title: 11 columns. */
static void print_texts(FILE *out, const char *title, char *const *texts, size_t count)
{
	size_t column = 0;
	for (size_t n = 0; n < count; n++) {
		size_t length = strlen(texts[n]);
		bool fresh = !n || column + 2 + length > OPTIONS_WIDTH;
		fputs(!n ? title : fresh ? ",\n           " : ", ", out);
		print_text(out, texts[n], length);
		column = fresh ? length : column + 2 + length;
	}
	if (count)
		fputc('\n', out);
}

static void print_session(FILE *out, const struct info *i)
{
	const Libtrace__Session *s = i->c.session;
	time_t seconds = (time_t)(s->start_realtime_ns / 1000000000);
	struct tm utc;
	char text[64] = "?";
	if (gmtime_r(&seconds, &utc))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &utc);
	fprintf(out, "began:     %s.%09" PRIu64 " UTC", text, s->start_realtime_ns % 1000000000);
	if (i->c.first_ns <= i->c.last_ns && i->c.last_ns >= s->start_ns) {
		fputs(", lasted ", out);
		info_print_span(out, i->c.last_ns - s->start_ns);
	}
	fputs("\nhost:      ", out);
	const char *parts[] = {s->hostname, s->kernel, s->processor};
	for (size_t n = 0; n < 3; n++)
		if (parts[n]) {
			fputs(n ? ", " : "", out);
			print_text(out, parts[n], strlen(parts[n]));
		}
	if (s->has_cpu_count)
		fprintf(out, ", %u processors", s->cpu_count);
	if (s->library_version)
		fprintf(out, "\nversion:   %s", s->library_version);
	fputc('\n', out);
	print_texts(out, "options:   ", s->options, s->n_options);
	print_texts(out, "machine:   ", s->facts, s->n_facts);
	if (contents_tick_ns(&i->c) > 0)
		fprintf(out, "clock:     a tick is %.3g ns: shorter times are 0 or one tick\n",
			contents_tick_ns(&i->c));
}

static void print_count(FILE *out, uint64_t count, const char *of)
{
	if (count)
		fprintf(out, ", %" PRIu64 " %s", count, of);
}

static void print_entries(FILE *out, const struct walk_tally *t)
{
	print_count(out, t->results, "results");
	print_count(out, t->range_results, "range results");
	print_count(out, t->cmdlist_results, "results of command lists");
	print_count(out, t->graph_results, "results of graphs");
	print_count(out, t->sources, "sources");
}

static void print_file(FILE *out, const struct info *i)
{
	const struct walk_tally *t = &i->c.tally;
	if (*i->source.format) {
		fprintf(out, "file:      %s, ", i->r.path);
		print_grouped(out, i->source.bytes);
		fputs(" bytes\nformat:    ", out);
		print_text(out, i->source.format, strlen(i->source.format));
		fputs(*i->source.devices ? "\ndevices:   " : "", out);
		print_text(out, i->source.devices, strlen(i->source.devices));
		fputc('\n', out);
		return;
	}
	fprintf(out, "report:    %s, ", i->r.path);
	print_grouped(out, i->r.report.source.size);
	fprintf(out, " bytes, %" PRIu64 " blocks", t->blocks);
	if (i->c.compressed_blocks)
		fprintf(out, ", %" PRIu64 " compressed", i->c.compressed_blocks);
	print_entries(out, t);
	fputc('\n', out);
	const Libtrace__SessionDetails *d = i->c.details;
	if (d && d->command_line) {
		fputs("command:   ", out);
		print_text(out, d->command_line, strlen(d->command_line));
		fputc('\n', out);
	}
	for (size_t n = 0; d && !i->c.session && n < d->n_versions; n++)
		fprintf(out, "           %s %s\n", d->versions[n]->provider,
			d->versions[n]->version);
	for (size_t n = 0; d && !i->c.session && n < d->n_device_attributes; n++)
		fprintf(out, "device %u:  %s, %zu attributes\n", d->device_attributes[n]->id,
			d->device_attributes[n]->name ? d->device_attributes[n]->name : "?",
			d->device_attributes[n]->n_attributes);
}

#define WINDOWS_PRINTED 10u

/* Print when events were recorded; without windows they were always recorded. */
static void print_windows(FILE *out, const struct info *i, bool verbose)
{
	const struct windows *w = &i->c.windows;
	uint64_t origin_ns = i->c.session ? i->c.session->start_ns : 0;
	if (info_never_began(i))
		fputs("\nno recording window: the delay did not end, or no capture range began\n",
			out);
	if (!w->entry_count)
		return;
	fprintf(out, "\nrecorded in %" PRIu64 " window%s, together ", w->last,
		w->last == 1 ? "" : "s");
	info_print_span(out, w->covered_ns);
	fputs("; events that began outside are neither recorded nor in totals:\n", out);
	for (size_t n = 0; n < w->count && (verbose || n < WINDOWS_PRINTED); n++) {
		const struct window *row = &w->rows[n];
		fprintf(out, "  %4" PRIu64 "  from ", row->number);
		info_print_span(out, row->start_ns - origin_ns);
		fputs(" to ", out);
		info_print_span(out, row->end_ns - origin_ns);
		fputs(row->unfinished ? ", the end\n" : "\n", out);
	}
	if (w->entry_count > w->count || (!verbose && w->count > WINDOWS_PRINTED))
		fprintf(out, "  and %" PRIu64 " more%s\n",
			w->entry_count - (verbose ? w->count : WINDOWS_PRINTED),
			verbose ? "" : ": -v");
	if (w->last > w->entry_count)
		fprintf(out, "  times of %" PRIu64 " windows are unknown\n",
			w->last - w->entry_count);
}

static void print_counts(FILE *out, const struct contents *c)
{
	const struct schema_event *event;
	int width = 14;
	for (uint32_t n = 0; (event = schema_event_at(n)); n++)
		if (c->events[event->number] && (int)strlen(event->name) > width)
			width = (int)strlen(event->name);
	fputs("\nevents:\n", out);
	for (uint32_t n = 0; (event = schema_event_at(n)); n++)
		if (c->events[event->number])
			fprintf(out, "  %-*s %12" PRIu64 "  %s\n", width, event->name,
				c->events[event->number], event->title);
	if (c->events[0])
		fprintf(out, "  %-*s %12" PRIu64 "  events of kinds unknown to this version\n",
			width, "?", c->events[0]);
	if (c->unknown_entries)
		fprintf(out, "  skipped %" PRIu64 " entries unknown to this version\n",
			c->unknown_entries);
}

static void print_imports(FILE *out, const struct contents *c)
{
	for (size_t n = 0; n < c->import_count; n++) {
		const Libtrace__Imported *i = c->imports[n];
		fputs(n ? "  " : "\nimported:\n  ", out);
		print_text(out, (const char *)i->name.data, i->name.len);
		if (i->display_name.len) {
			fputs(" (", out);
			print_text(out, (const char *)i->display_name.data, i->display_name.len);
			fputs(")", out);
		}
		fprintf(out, ": %" PRIu64 " events\n", i->events);
	}
}

static void print_deferred(FILE *out, const struct nvtx_deferred *d)
{
	if (!d->submissions)
		return;
	fprintf(out,
		"\ndeferred NVTX events: %" PRIu64 " submissions, %" PRIu64
		" events with a known time\n",
		d->submissions, d->placed);
	for (int i = 0; i < NVTX_UNPLACED_COUNT; i++)
		if (d->unplaced[i])
			fprintf(out, "  without a known time: %" PRIu64 " (%s)\n", d->unplaced[i],
				nvtx_unplaced_text((enum nvtx_unplaced)i));
}

static void print_diagnostics(FILE *out, const struct contents *c)
{
	for (uint64_t n = 0; n < c->diagnostic_count && n < DIAGNOSTICS_KEPT; n++) {
		const Libtrace__Diagnostic *d = c->diagnostics[n];
		fprintf(out, "%s  %u: ", n ? "" : "\ndiagnostics:\n", d->pid);
		print_text(out, d->text ? d->text : "", d->text ? strlen(d->text) : 0);
		fputc('\n', out);
	}
	if (c->diagnostic_count > DIAGNOSTICS_KEPT)
		fprintf(out, "  and %" PRIu64 " more\n", c->diagnostic_count - DIAGNOSTICS_KEPT);
}

void info_print(FILE *out, const struct info *i, bool verbose)
{
	char verdict[512];
	print_file(out, i);
	if (i->c.session)
		print_session(out, i);
	info_print_merged(out, &i->c, verbose);
	if (i->c.processes.count)
		info_print_processes(
			out, &i->c.processes, *option_of(i->c.session, "functions"), verbose);
	print_windows(out, i, verbose);
	if (i->c.tally.foreign_blocks < i->c.tally.blocks)
		print_counts(out, &i->c);
	if (i->source.impossible)
		fprintf(out,
			"  left out %" PRIu64
			" rows that have no time or process, or end before they start\n",
			i->source.impossible);
	if (i->callchain_nodes)
		fprintf(out,
			"\ncallchains: %" PRIu64 " nodes; names of %" PRIu64
			" addresses stored%s\n",
			i->callchain_nodes, i->stored_symbols,
			i->stored_symbols ? "" : "; see 'trace help symbolize'");
	print_deferred(out, &i->deferred);
	print_imports(out, &i->c);
	print_diagnostics(out, &i->c);
	info_verdict(i, verdict, sizeof(verdict));
	fprintf(out, "\nverdict:   %s\n", verdict);
}

static void sum_up(struct info *i)
{
	for (size_t n = 0; n < i->c.processes.count; n++) {
		const struct process *p = i->c.processes.rows[n];
		i->dropped += process_dropped(p);
		i->damaged_lanes += p->receipt ? p->receipt->damaged_lanes : 0;
		i->unaccounted += p->receipt ? p->receipt->unaccounted : 0;
		i->stored_symbols += p->symbols.count;
		for (uint32_t piece = 0; piece < p->callchains.count; piece++)
			i->callchain_nodes += p->callchains.pieces[piece].count;
		i->untraced += p->facts->traced == LIBTRACE__TRACED__TRACED_NO;
		i->partly += p->facts->traced == LIBTRACE__TRACED__TRACED_PARTLY;
	}
	i->damage = i->c.damage_count;
	i->unended = processes_unended(&i->c.processes);
}

int info_gather(struct info *i, const char *file, bool no_wait)
{
	const struct contents_visitor visitor = {&i->r, cli_progress, NULL, cli_problem};
	const bool quiet = i->r.quiet;
	int status = sql_file_is_foreign(file) ? input_open_foreign(&i->r, file, &i->source)
					       : cli_open(&i->r, file, no_wait);
	if (status)
		return STATUS_FAILED;
	i->r.quiet = quiet;
	contents_init(&i->c);
	int error = contents_read(&i->c, &i->r.report, &visitor);
	cli_progress_end(&i->r);
	sum_up(i);
	if (!error && !*i->source.format)
		error = nvtx_deferred_read(&i->deferred, &i->r.report, false);
	if (!error)
		return 0;
	cli_failed(&i->r, error);
	info_release(i);
	return STATUS_FAILED;
}

void info_release(struct info *i)
{
	contents_release(&i->c);
	cli_close(&i->r);
}
