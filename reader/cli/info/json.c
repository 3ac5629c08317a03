/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.c - `trace info` of a report, as JSON.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "reader/api/json.h"
#include "reader/base/print.h"
#include "reader/cli/info/info.h"

static void text_member(FILE *out, const char *name, const char *value)
{
	fprintf(out, ", \"%s\": ", name);
	print_json_string(out, value);
}

static void number_member(FILE *out, const char *name, uint64_t value)
{
	fprintf(out, ", \"%s\": %" PRIu64, name, value);
}

static void texts_member(FILE *out, const char *name, char *const *texts, size_t count)
{
	fprintf(out, ", \"%s\": [", name);
	for (size_t n = 0; n < count; n++) {
		fputs(n ? ", " : "", out);
		print_json_string(out, texts[n]);
	}
	fputs("]", out);
}

static void print_session(FILE *out, const struct info *i)
{
	const Libtrace__Session *s = i->c.session;
	if (!s) {
		fputs("null", out);
		return;
	}
	fprintf(out, "{\"start_ns\": %" PRIu64, s->start_ns);
	number_member(out, "start_realtime_ns", s->start_realtime_ns);
	text_member(out, "boot_id", s->boot_id);
	text_member(out, "hostname", s->hostname);
	text_member(out, "kernel", s->kernel);
	text_member(out, "processor", s->processor);
	number_member(out, "cpu_count", s->cpu_count);
	text_member(out, "library_version", s->library_version);
	number_member(out, "root_pid", s->root_pid);
	texts_member(out, "options", s->options, s->n_options);
	texts_member(out, "facts", s->facts, s->n_facts);
	fputs("}", out);
}

static void print_cpu(FILE *out, const Libtrace__CpuReceipt *c)
{
	fprintf(out, ", \"cpu\": {\"frequency\": %" PRIu64, c->frequency);
	text_member(out, "trigger", c->by_event ? "perf" : NULL);
	number_member(out, "samples", c->samples);
	number_member(out, "periods", c->periods);
	number_member(out, "sampled_ns", c->sampled_ns);
	number_member(out, "process_ns", c->process_ns);
	number_member(out, "in_tracer", c->in_tracer);
	number_member(out, "in_step", c->in_step);
	number_member(out, "late", c->late);
	number_member(out, "threads", c->threads);
	number_member(out, "blocked", c->blocked);
	number_member(out, "threads_refused", c->threads_refused);
	text_member(out, "off", c->off);
	fputs("}", out);
}

static void print_thread_time(FILE *out, const Libtrace__ThreadTimeReceipt *t)
{
	fprintf(out, ", \"thread_time\": {\"threads\": %" PRIu64, t->threads);
	number_member(out, "readings", t->readings);
	number_member(out, "inexact", t->inexact);
	number_member(out, "looks", t->looks);
	number_member(out, "steal_ns", t->steal_ns);
	text_member(out, "off", t->off);
	number_member(out, "counted", t->counted);
	number_member(out, "counters_refused", t->counters_refused);
	text_member(out, "counters_off", t->counters_off);
	fputs("}", out);
}

static void print_switches(FILE *out, const Libtrace__SwitchReceipt *s)
{
	fprintf(out, ", \"switches\": {\"threads\": %" PRIu64, s->threads);
	number_member(out, "switches", s->switches);
	number_member(out, "lost", s->lost);
	number_member(out, "threads_refused", s->threads_refused);
	number_member(out, "threads_missed", s->threads_missed);
	text_member(out, "off", s->off);
	fputs("}", out);
}

static void print_functions(FILE *out, const Libtrace__FunctionReceipt *f)
{
	fprintf(out, ", \"functions\": {\"functions\": %" PRIu64, f->functions);
	number_member(out, "modules", f->modules);
	number_member(out, "slots", f->slots);
	number_member(out, "patched", f->patched);
	number_member(out, "addresses", f->addresses);
	number_member(out, "unresolved", f->unresolved);
	number_member(out, "no_room", f->no_room);
	number_member(out, "excluded", f->excluded);
	number_member(out, "looked_up", f->looked_up);
	number_member(out, "opencl_enqueued", f->opencl_enqueued);
	number_member(out, "opencl_recorded", f->opencl_recorded);
	number_member(out, "opencl_no_room", f->opencl_no_room);
	number_member(out, "vulkan_submitted", f->vulkan_submitted);
	number_member(out, "vulkan_measured", f->vulkan_measured);
	number_member(out, "vulkan_unmeasured", f->vulkan_unmeasured);
	number_member(out, "matched_patterns", f->n_matched_patterns);
	fputs("}", out);
}

static void print_streams(FILE *out, const Libtrace__StreamReceipt *s)
{
	fprintf(out, ", \"streams\": {\"stdout_bytes\": %" PRIu64, s->stdout_bytes);
	number_member(out, "stderr_bytes", s->stderr_bytes);
	number_member(out, "beyond", s->beyond);
	number_member(out, "unrecorded", s->unrecorded);
	number_member(out, "no_stdio", s->no_stdio);
	fputs("}", out);
}

static void print_receipt(FILE *out, const Libtrace__Receipt *t)
{
	fprintf(out, ", \"receipt\": {\"produced\": %" PRIu64, t->produced);
	number_member(out, "written", t->written);
	number_member(out, "summarized", t->summarized);
	number_member(out, "tracer_ns", t->tracer_ns);
	number_member(out, "abandoned", t->abandoned);
	number_member(out, "impossible_times", t->impossible_times);
	number_member(out, "clock_error_ns", t->clock_error_ns);
	number_member(out, "clock_breaks", t->clock_breaks);
	number_member(out, "unfinished", t->unfinished);
	number_member(out, "unaccounted", t->unaccounted);
	number_member(out, "callchains", t->callchains);
	number_member(out, "callchains_cut", t->callchains_cut);
	fputs(", \"drops\": [", out);
	for (size_t n = 0; n < t->n_drops; n++) {
		fprintf(out, "%s{\"reason\": ", n ? ", " : "");
		print_json_string(out, schema_drop(t->drops[n]->reason));
		number_member(out, "count", t->drops[n]->count);
		number_member(out, "first_ns", t->drops[n]->first_ns);
		number_member(out, "last_ns", t->drops[n]->last_ns);
		fputs("}", out);
	}
	fputs("]", out);
	if (t->cpu)
		print_cpu(out, t->cpu);
	if (t->thread_time)
		print_thread_time(out, t->thread_time);
	if (t->switches)
		print_switches(out, t->switches);
	if (t->functions)
		print_functions(out, t->functions);
	if (t->streams)
		print_streams(out, t->streams);
	fputs("}", out);
}

static void print_counts(FILE *out, const uint64_t *events)
{
	const char *comma = "";
	const struct schema_event *event;
	fputs("{", out);
	for (uint32_t n = 0; (event = schema_event_at(n)); n++)
		if (events[event->number]) {
			fprintf(out, "%s\"%s\": %" PRIu64, comma, event->name,
				events[event->number]);
			comma = ", ";
		}
	if (events[0])
		fprintf(out, "%s\"unknown\": %" PRIu64, comma, events[0]);
	fputs("}", out);
}

static void print_process(FILE *out, const struct process *p)
{
	static const char *const ends[] = {"running", "exit", "exec", "killed"},
				 *const traced[] = {"yes", "no", "partly"};
	const Libtrace__Process *f = p->facts;
	fprintf(out, "{\"id\": %u", p->id);
	number_member(out, "pid", f->pid);
	number_member(out, "parent_pid", f->parent_pid);
	number_member(out, "previous_id", f->previous_id);
	if (f->report)
		number_member(out, "report", f->report);
	text_member(out, "executable", f->executable);
	text_member(out, "work_directory", f->work_directory);
	fputs(", \"arguments\": [", out);
	for (size_t n = 0; n < f->n_arguments; n++) {
		fputs(n ? ", " : "", out);
		print_json(out, (const char *)f->arguments[n].data, f->arguments[n].len);
	}
	fprintf(out, "], \"arguments_truncated\": %s", f->arguments_truncated ? "true" : "false");
	number_member(out, "start_ns", f->start_ns);
	number_member(out, "end_ns", f->end_ns);
	if (f->has_end_earliest_ns)
		number_member(out, "end_earliest_ns", f->end_earliest_ns);
	if (f->has_end_latest_ns)
		number_member(out, "end_latest_ns", f->end_latest_ns);
	text_member(out, "end", f->has_end && (unsigned)f->end < 4 ? ends[f->end] : NULL);
	if (f->has_exit_status)
		fprintf(out, ", \"exit_status\": %d", f->exit_status);
	if (f->has_term_signal)
		fprintf(out, ", \"term_signal\": %u", f->term_signal);
	if (f->has_static_functions) {
		number_member(out, "static_functions", f->static_functions);
		text_member(out, "static_example", f->static_example);
	}
	text_member(out, "traced", (unsigned)f->traced < 3 ? traced[f->traced] : NULL);
	text_member(out, "reason", f->reason);
	if (f->has_imported_from) {
		fputs(", \"imported_from\": ", out);
		print_json(out, (const char *)f->imported_from.data, f->imported_from.len);
	}
	fprintf(out, ", \"forked\": %s", f->forked ? "true" : "false");
	number_member(out, "threshold_ns", f->threshold_ns);
	number_member(out, "dropped", process_dropped(p));
	fputs(", \"events\": ", out);
	print_counts(out, p->events);
	if (p->receipt)
		print_receipt(out, p->receipt);
	fputs("}", out);
}

static void print_diagnostics(FILE *out, const struct info *i)
{
	for (uint64_t n = 0; n < i->c.diagnostic_count && n < DIAGNOSTICS_KEPT; n++) {
		const Libtrace__Diagnostic *d = i->c.diagnostics[n];
		fprintf(out, "%s{\"time_ns\": %" PRIu64 ", \"pid\": %u, \"text\": ", n ? ", " : "",
			d->time_ns, d->pid);
		print_json_string(out, d->text);
		fputs("}", out);
	}
}

static void print_windows(FILE *out, const struct windows *w)
{
	fprintf(out, "{\"count\": %" PRIu64, w->last);
	number_member(out, "told", w->entry_count);
	number_member(out, "covered_ns", w->covered_ns);
	fputs(", \"first\": [", out);
	for (size_t n = 0; n < w->count; n++) {
		fprintf(out, "%s{\"number\": %" PRIu64, n ? ", " : "", w->rows[n].number);
		number_member(out, "start_ns", w->rows[n].start_ns);
		number_member(out, "end_ns", w->rows[n].end_ns);
		fprintf(out, ", \"unfinished\": %s}", w->rows[n].unfinished ? "true" : "false");
	}
	fputs("]}", out);
}

static void print_imports(FILE *out, const struct contents *c)
{
	for (size_t n = 0; n < c->import_count; n++) {
		const Libtrace__Imported *i = c->imports[n];
		fputs(n ? ",\n  {\"name\": " : "\n  {\"name\": ", out);
		print_json(out, (const char *)i->name.data, i->name.len);
		fputs(", \"display_name\": ", out);
		print_json(out, (const char *)i->display_name.data, i->display_name.len);
		number_member(out, "bytes", i->bytes);
		number_member(out, "events", i->events);
		fputs("}", out);
	}
}

static void print_deferred(FILE *out, const struct nvtx_deferred *d)
{
	const char *comma = "";
	fprintf(out, "{\"submissions\": %" PRIu64, d->submissions);
	number_member(out, "placed", d->placed);
	fputs(", \"not_placed\": [", out);
	for (int i = 0; i < NVTX_UNPLACED_COUNT; i++) {
		if (!d->unplaced[i])
			continue;
		fprintf(out, "%s{\"count\": %" PRIu64, comma, d->unplaced[i]);
		text_member(out, "reason", nvtx_unplaced_text((enum nvtx_unplaced)i));
		fputs("}", out);
		comma = ", ";
	}
	fputs("]}", out);
}

void info_print_json(FILE *out, const struct info *i)
{
	char verdict[512];
	info_verdict(i, verdict, sizeof(verdict));
	fputs("{\"file\": ", out);
	print_json_string(out, i->r.path);
	if (*i->source.format) {
		text_member(out, "format", i->source.format);
		text_member(out, "devices", i->source.devices);
		number_member(out, "impossible_times", i->source.impossible);
	}
	number_member(out, "bytes", *i->source.format ? i->source.bytes : i->r.report.source.size);
	number_member(out, "blocks", i->c.tally.blocks);
	number_member(out, "foreign_blocks", i->c.tally.foreign_blocks);
	number_member(out, "compressed_blocks", i->c.compressed_blocks);
	number_member(out, "results", i->c.tally.results);
	number_member(out, "range_results", i->c.tally.range_results);
	number_member(out, "cmdlist_results", i->c.tally.cmdlist_results);
	number_member(out, "graph_results", i->c.tally.graph_results);
	number_member(out, "sources", i->c.tally.sources);
	number_member(out, "bad_blocks", i->c.tally.bad_blocks);
	number_member(out, "missing_blocks", i->c.tally.missing_blocks);
	number_member(out, "torn_bytes", i->c.tally.torn_bytes);
	number_member(out, "problems", i->r.problems);
	number_member(out, "dropped", i->dropped);
	number_member(out, "callchain_nodes", i->callchain_nodes);
	number_member(out, "stored_symbols", i->stored_symbols);
	text_member(out, "verdict", verdict);
	fputs(",\n \"session\": ", out);
	print_session(out, i);
	char *details = NULL;
	if (!i->c.session && i->c.details && !json_message(&i->c.details->base, &details))
		fprintf(out, ",\n \"details\": %s", details);
	free(details);
	if (i->c.windows.entry_count || info_never_began(i)) {
		fputs(",\n \"windows\": ", out);
		print_windows(out, &i->c.windows);
	}
	fputs(",\n \"events\": ", out);
	print_counts(out, i->c.events);
	if (i->deferred.submissions) {
		fputs(",\n \"deferred\": ", out);
		print_deferred(out, &i->deferred);
	}
	fputs(",\n \"processes\": [", out);
	for (size_t n = 0; n < i->c.processes.count; n++) {
		fputs(n ? ",\n  " : "\n  ", out);
		print_process(out, i->c.processes.rows[n]);
	}
	fputs("],\n \"merged\": [", out);
	info_print_merged_json(out, &i->c);
	fputs("],\n \"imports\": [", out);
	print_imports(out, &i->c);
	fputs("],\n \"diagnostics\": [", out);
	print_diagnostics(out, i);
	fputs("]}\n", out);
}
