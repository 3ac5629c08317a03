/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes.c - the processes of `trace info`: who started whom, how each one ended, and its
 * receipt.
 */
#define _GNU_SOURCE
#include "reader/cli/info/info.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/map.h"
#include "reader/base/print.h"

#define INDENT_MAX 40u
#define COMMAND_WIDTH 60u   /* width of a command line, unless --verbose */
#define PROCESSES_SHOWN 40u /* processes printed, unless --verbose */

void info_print_span(FILE *out, uint64_t ns)
{
	fprintf(out, "%" PRIu64 ".%09" PRIu64 " s", ns / 1000000000, ns % 1000000000);
}

/* Return the number of events in the file, of all kinds. */
static uint64_t events_of(const struct process *p)
{
	uint64_t sum = 0;
	for (uint32_t kind = 0; kind < SCHEMA_KINDS; kind++)
		sum += p->events[kind];
	return sum;
}

/* Write how a process without an exit record ended. */
static void killed_text(const Libtrace__Process *f, char *ret_text, size_t bytes)
{
	const char *name = f->has_term_signal ? sigabbrev_np((int)f->term_signal) : NULL;
	if (f->has_term_signal)
		snprintf(ret_text, bytes, "killed by signal %u%s%s%s", f->term_signal,
			name ? " (SIG" : "", name ? name : "", name ? ")" : "");
	else if (f->has_exit_status)
		snprintf(ret_text, bytes, "exit %d without an exit record", f->exit_status);
	else
		snprintf(ret_text, bytes,
			"ended without an exit record: a signal, a crash, or a raw exit");
}

/* Write how a process ended. */
static void end_text(const struct process *p, char *ret_text, size_t bytes)
{
	const Libtrace__Process *f = p->facts;
	if (!f->has_end)
		snprintf(ret_text, bytes, "end unknown");
	else if (f->end == LIBTRACE__PROCESS_END__END_EXIT && !f->has_exit_status)
		snprintf(ret_text, bytes, "exit with unknown status");
	else if (f->end == LIBTRACE__PROCESS_END__END_EXIT)
		snprintf(ret_text, bytes, "exit %d", f->exit_status);
	else if (f->end == LIBTRACE__PROCESS_END__END_EXEC)
		snprintf(ret_text, bytes, "replaced by exec");
	else if (f->end == LIBTRACE__PROCESS_END__END_KILLED)
		killed_text(f, ret_text, bytes);
	else
		snprintf(ret_text, bytes, "still running when the report was closed");
}

bool info_program_end(const struct info *i, char *ret_text, size_t bytes)
{
	const struct process_list *l = &i->c.processes;
	const Libtrace__Session *s = i->c.session;
	for (size_t n = l->count; s && n-- > 0;)
		if (l->rows[n]->facts->pid == s->root_pid &&
			!(l->rows[n]->facts->has_end &&
				l->rows[n]->facts->end == LIBTRACE__PROCESS_END__END_EXEC)) {
			end_text(l->rows[n], ret_text, bytes);
			return true;
		}
	return false;
}

static void print_whole_command(FILE *out, const Libtrace__Process *f)
{
	if (!f->n_arguments && !f->executable)
		fputs("(same as its parent)", out);
	if (!f->n_arguments && f->executable)
		print_text(out, f->executable, strlen(f->executable));
	for (size_t n = 0; n < f->n_arguments; n++) {
		fputs(n ? " " : "", out);
		print_text(out, (const char *)f->arguments[n].data, f->arguments[n].len);
	}
	fputs(f->arguments_truncated ? " ..." : "", out);
}

/* Print as much of the command line as fits. */
static void print_command(FILE *out, const Libtrace__Process *f, bool verbose)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *memory = verbose ? NULL : open_memstream(&text, &bytes);
	if (!memory) {
		print_whole_command(out, f);
		return;
	}
	print_whole_command(memory, f);
	fclose(memory);
	size_t width = bytes;
	if (width > COMMAND_WIDTH)
		for (width = COMMAND_WIDTH - 4;
			width && ((unsigned char)text[width] & 0xc0) == 0x80; width--)
			;
	fprintf(out, "%.*s%s", (int)width, text, width < bytes ? " ..." : "");
	free(text);
}

/* Print ", 12 of something"; nothing if the number is 0. */
static void print_part(FILE *out, uint64_t number, const char *what)
{
	if (number)
		fprintf(out, ", %" PRIu64 " %s", number, what);
}

/* Print ", 12 nouns and the rest"; nothing if the number is 0. */
static void print_nouns(FILE *out, uint64_t number, const char *noun, const char *rest)
{
	if (number)
		fprintf(out, ", %" PRIu64 " %s%s%s", number, noun, number == 1 ? "" : "s", rest);
}

/* Print why a source recorded nothing, or stopped; nothing without a reason. */
static void print_off(FILE *out, const char *what, const char *reason)
{
	if (!reason)
		return;
	fprintf(out, "; %s: ", what);
	print_text(out, reason, strlen(reason));
}

static void print_receipt(FILE *out, const Libtrace__Receipt *r, unsigned indent)
{
	fprintf(out, "%*sreceipt: %" PRIu64 " produced, %" PRIu64 " written", (int)indent, "",
		r->produced, r->written);
	print_part(out, r->summarized, "summed up");
	for (size_t n = 0; n < r->n_drops; n++)
		fprintf(out, ", %" PRIu64 " dropped (%s)", r->drops[n]->count,
			schema_drop(r->drops[n]->reason));
	print_part(out, r->abandoned, "abandoned");
	print_part(out, r->impossible_times, "with impossible times");
	print_part(out, r->unfinished, "unfinished");
	print_part(out, r->unaccounted, "unaccounted for");
	if (r->callchains_cut)
		fprintf(out, ", %" PRIu64 " of %" PRIu64 " callchains cut", r->callchains_cut,
			r->callchains);
	fprintf(out, "; tracer's own time %" PRIu64 " ns, ", r->tracer_ns);
	if (r->clock_error_ns < UINT32_MAX)
		fprintf(out, "clock error at most %" PRIu64 " ns", r->clock_error_ns);
	else
		fputs(r->clock_breaks ? "clock error unknown" : "clock rate estimated", out);
	print_part(out, r->clock_breaks,
		r->clock_breaks == 1 ? "clock discontinuity" : "clock discontinuities");
	fputs("\n", out);
}

/* Print what became of the CPU samples, and what was not sampled. */
static void print_cpu(FILE *out, const Libtrace__CpuReceipt *c, unsigned indent)
{
	fprintf(out,
		"%*sCPU samples: %" PRIu64 " in %" PRIu64 " thread%s at %" PRIu64 " Hz%s, %.3f s",
		(int)indent, "", c->samples, c->threads, c->threads == 1 ? "" : "s", c->frequency,
		c->by_event ? " of perf's clock" : "", (double)c->sampled_ns / 1e9);
	if (c->process_ns)
		fprintf(out, " of %.3f s of processor time", (double)c->process_ns / 1e9);
	print_part(out, c->in_tracer, "without a callchain (inside the tracer)");
	print_part(out, c->in_step, "taken at the end of a call");
	print_nouns(out, c->late, "late tick", " (counted by the next sample)");
	print_nouns(out, c->blocked, "time", " without samples (a thread blocked SIGURG)");
	print_nouns(out, c->threads_refused, "thread", " not sampled (no timer or event)");
	print_off(out, "off", c->off);
	fputs("\n", out);
}

/* Print what became of the readings of threads' counters. */
static void print_thread_time(FILE *out, const Libtrace__ThreadTimeReceipt *t, unsigned indent)
{
	fprintf(out, "%*sthread times: %" PRIu64 " thread%s", (int)indent, "", t->threads,
		t->threads == 1 ? "" : "s");
	print_nouns(out, t->readings, "reading", " while they ran");
	print_nouns(out, t->looks, "time", " seen asleep outside recorded calls");
	print_nouns(out, t->inexact, "thread", " ended without an exact runnable time");
	if (t->steal_ns) {
		fputs(", ", out);
		info_print_span(out, t->steal_ns);
		fputs(" of the machine's CPUs taken by the hypervisor", out);
	}
	print_off(out, "no readings", t->off);
	if (t->counted) {
		fputs(", instructions and cycles", out);
		fprintf(out, " of %" PRIu64 " thread%s", t->counted, t->counted == 1 ? "" : "s");
	}
	print_nouns(out, t->counters_refused, "thread", " without them (refused)");
	print_off(out, "no instructions and cycles", t->counters_off);
	fputs("\n", out);
}

/* Print what became of the context switches. */
static void print_switches(FILE *out, const Libtrace__SwitchReceipt *s, unsigned indent)
{
	fprintf(out, "%*scontext switches: %" PRIu64 " in %" PRIu64 " thread%s", (int)indent, "",
		s->switches, s->threads, s->threads == 1 ? "" : "s");
	print_part(out, s->lost, "lost");
	print_nouns(out, s->threads_refused, "thread", " not recorded");
	print_nouns(out, s->threads_missed, "thread", " ended before recording began");
	print_off(out, "off", s->off);
	fputs("\n", out);
}

/* Print which functions of libraries could be recorded, and which calls cannot be seen. */
static void print_functions(FILE *out, const Libtrace__FunctionReceipt *f, unsigned indent)
{
	fprintf(out,
		"%*sfunctions of libraries: %" PRIu64 " matched, %" PRIu64 " of %" PRIu64
		" import slots patched in %" PRIu64 " module%s",
		(int)indent, "", f->functions, f->patched, f->slots, f->modules,
		f->modules == 1 ? "" : "s");
	print_nouns(out, f->looked_up, "lookup", " by name");
	print_nouns(out, f->addresses, "import", " of an address (its calls are not recorded)");
	print_nouns(out, f->unresolved, "slot", " not resolved");
	print_nouns(out, f->no_room, "slot", " beyond the maximum number of functions");
	print_nouns(out, f->excluded, "slot", " of functions that are never recorded");
	if (f->opencl_enqueued)
		fprintf(out, "; OpenCL: %" PRIu64 " of %" PRIu64 " commands recorded",
			f->opencl_recorded, f->opencl_enqueued);
	if (f->vulkan_submitted)
		fprintf(out, "; Vulkan: %" PRIu64 " of %" PRIu64 " submissions measured",
			f->vulkan_measured, f->vulkan_submitted);
	fputs("\n", out);
}

/* Print which functions cannot be recorded because they are in the program itself. */
static void print_static(FILE *out, const Libtrace__Process *f, unsigned indent)
{
	fprintf(out, "%*slinked statically: %" PRIu64 " function%s of the names to record",
		(int)indent, "", f->static_functions, f->static_functions == 1 ? "" : "s");
	if (f->static_example && *f->static_example) {
		fputs(", such as ", out);
		print_text(out, f->static_example, strlen(f->static_example));
	}
	fputs(", in the program's own file; their calls are not recorded\n", out);
}

static void print_streams(FILE *out, const Libtrace__StreamReceipt *s, unsigned indent)
{
	fprintf(out, "%*sstandard output: %" PRIu64 " bytes, standard error: %" PRIu64 " bytes",
		(int)indent, "", s->stdout_bytes, s->stderr_bytes);
	print_nouns(out, s->beyond, "byte", " beyond the limit not kept (--streams-limit)");
	print_nouns(out, s->unrecorded, "byte", " lost");
	if (s->no_stdio)
		fputs("; what the C library's stdio writes was not seen", out);
	fputs("\n", out);
}

/* Return whether the short form should show this receipt, too. */
static bool is_remarkable(const Libtrace__Receipt *r)
{
	return r->n_drops || r->impossible_times || r->clock_breaks || r->produced != r->written ||
		r->unaccounted;
}

static bool cpu_is_remarkable(const Libtrace__CpuReceipt *c)
{
	return c->off || c->blocked || c->threads_refused;
}

static void print_imported(FILE *out, const struct process *p, unsigned indent)
{
	const ProtobufCBinaryData *name = &p->facts->imported_from;
	fprintf(out, "%*s%u  imported from ", (int)indent, "", p->facts->pid);
	print_text(out, (const char *)name->data, name->len);
	fputs(", ", out);
	print_grouped(out, events_of(p));
	fputs(" events\n", out);
}

static void print_after(FILE *out, const char *words, const Libtrace__Process *f, uint64_t ns)
{
	fputs(words, out);
	info_print_span(out, ns > f->start_ns ? ns - f->start_ns : 0);
}

/* Print how long the process was traced, or what is known of that. */
static void print_life(FILE *out, const Libtrace__Process *f)
{
	if (f->has_end_earliest_ns) {
		print_after(out, f->has_end_latest_ns ? " after " : " after at least ", f,
			f->end_earliest_ns);
		if (f->has_end_latest_ns)
			print_after(out, " to ", f, f->end_latest_ns);
		fputs(" (its end was not observed)", out);
	} else if (f->has_end_ns && f->end_ns >= f->start_ns) {
		print_after(out, " after ", f, f->end_ns);
	}
}

static void print_process(FILE *out, const struct process *p, unsigned depth, bool verbose)
{
	const Libtrace__Process *f = p->facts;
	unsigned indent = 2 * depth + 2 > INDENT_MAX ? INDENT_MAX : 2 * depth + 2;
	char end[96];
	if (f->has_imported_from) {
		print_imported(out, p, indent);
		return;
	}
	end_text(p, end, sizeof(end));
	fprintf(out, "%*s%u  ", (int)indent, "", f->pid);
	print_command(out, f, verbose);
	fprintf(out, verbose ? "\n%*s%s" : "%*s%s", verbose ? (int)indent + 4 : 2, "", end);
	print_life(out, f);
	fputs(", ", out);
	print_grouped(out, events_of(p));
	fputs(" events", out);
	if (f->has_traced && f->traced != LIBTRACE__TRACED__TRACED_YES) {
		fputs(f->traced == LIBTRACE__TRACED__TRACED_NO ? "; not traced: "
							       : "; traced in part: ",
			out);
		print_text(out, f->reason ? f->reason : "?", f->reason ? strlen(f->reason) : 1);
	}
	fputc('\n', out);
	if (p->receipt && (verbose || is_remarkable(p->receipt)))
		print_receipt(out, p->receipt, indent + 4);
	if (p->receipt && p->receipt->cpu && (verbose || cpu_is_remarkable(p->receipt->cpu)))
		print_cpu(out, p->receipt->cpu, indent + 4);
	if (p->receipt && p->receipt->thread_time &&
		(verbose || p->receipt->thread_time->off || p->receipt->thread_time->counters_off))
		print_thread_time(out, p->receipt->thread_time, indent + 4);
	const Libtrace__SwitchReceipt *s = p->receipt ? p->receipt->switches : NULL;
	if (s && (verbose || s->off || s->lost || s->threads_refused || s->threads_missed))
		print_switches(out, s, indent + 4);
	if (p->receipt && p->receipt->functions &&
		(verbose || p->receipt->functions->no_room ||
			p->receipt->functions->opencl_recorded <
				p->receipt->functions->opencl_enqueued ||
			p->receipt->functions->vulkan_measured <
				p->receipt->functions->vulkan_submitted))
		print_functions(out, p->receipt->functions, indent + 4);
	if (f->static_functions)
		print_static(out, f, indent + 4);
	if (p->receipt && p->receipt->streams && verbose)
		print_streams(out, p->receipt->streams, indent + 4);
}

/* A process, sorted by start. Its parent is the program image that it replaced by exec, else the
 * latest earlier process with the parent's pid, so there are no cycles. SIZE_MAX = none. */
struct node {
	const struct process *process;
	size_t parent, first_child, last_child, next;
	unsigned depth;
};

static int compare_nodes(const void *a, const void *b)
{
	const Libtrace__Process *x = ((const struct node *)a)->process->facts,
				*y = ((const struct node *)b)->process->facts;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static struct node *nodes_make(const struct process_list *l)
{
	struct node *nodes = calloc(l->count + 1, sizeof(*nodes));
	for (size_t n = 0; nodes && n < l->count; n++)
		nodes[n] = (struct node){l->rows[n], SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, 0};
	if (nodes)
		qsort(nodes, l->count, sizeof(*nodes), compare_nodes);
	return nodes;
}

/* Find the parent of each node. Returns 0 or -ENOMEM. */
static int nodes_link(struct node *nodes, size_t count)
{
	struct map latest = {0}; /* pid, report -> index + 1 of the latest node */
	int error = 0;
	for (size_t n = 0; !error && n < count; n++) {
		const Libtrace__Process *f = nodes[n].process->facts;
		uint32_t same = map_get(&latest, f->pid, f->report);
		bool replaces = same &&
			nodes[same - 1].process->facts->end == LIBTRACE__PROCESS_END__END_EXEC;
		uint32_t up = replaces ? same : map_get(&latest, f->parent_pid, f->report);
		if (up) {
			struct node *parent = &nodes[up - 1];
			nodes[n].parent = up - 1;
			nodes[n].depth = parent->depth + !replaces;
			*(parent->last_child == SIZE_MAX ? &parent->first_child
							 : &nodes[parent->last_child].next) = n;
			parent->last_child = n;
		}
		error = map_put(&latest, f->pid, f->report, (uint32_t)n + 1);
	}
	map_release(&latest);
	return error;
}

/* Print the tree depth first, without recursion: a tree may have any depth. */
static void print_tree(FILE *out, const struct node *nodes, size_t root, bool verbose, size_t *left)
{
	for (size_t n = root; n != SIZE_MAX;) {
		if (!*left)
			return;
		--*left;
		print_process(out, nodes[n].process, nodes[n].depth, verbose);
		if (nodes[n].first_child != SIZE_MAX) {
			n = nodes[n].first_child;
			continue;
		}
		while (n != root && nodes[n].next == SIZE_MAX)
			n = nodes[n].parent;
		n = n == root ? SIZE_MAX : nodes[n].next;
	}
}

#define REASONS_PRINTED 16u /* reasons printed; all others are added up */

static void add_drops(const Libtrace__Receipt *r, uint64_t *drops)
{
	for (size_t n = 0; n < r->n_drops; n++) {
		uint32_t reason = r->drops[n]->reason;
		drops[reason < REASONS_PRINTED ? reason : REASONS_PRINTED] += r->drops[n]->count;
	}
}

/* Print "  dropped: 5 ring full, 2 nested signals"; nothing if no event was dropped. */
static void print_drops(FILE *out, const uint64_t *drops)
{
	const char *before = "  dropped: ";
	for (unsigned reason = 0; reason <= REASONS_PRINTED; reason++) {
		if (!drops[reason])
			continue;
		fprintf(out, "%s%" PRIu64 " %s", before, drops[reason], schema_drop(reason));
		before = ", ";
	}
	if (*before == ',')
		fputc('\n', out);
}

/* Add a CPU receipt. The processor time of a killed process is unknown; then the sum is, too. */
static void add_cpu(Libtrace__CpuReceipt *sum, const Libtrace__CpuReceipt *c)
{
	bool known = c->process_ns && (sum->process_ns || !sum->frequency);
	sum->process_ns = known ? sum->process_ns + c->process_ns : 0;
	sum->frequency = c->frequency > sum->frequency ? c->frequency : sum->frequency;
	sum->by_event |= c->by_event;
	sum->samples += c->samples;
	sum->sampled_ns += c->sampled_ns;
	sum->in_tracer += c->in_tracer;
	sum->in_step += c->in_step;
	sum->late += c->late;
	sum->threads += c->threads;
	sum->blocked += c->blocked;
	sum->threads_refused += c->threads_refused;
}

#define FEW_SAMPLES 20 /* so few may be missing without a word */

bool info_unsampled(const struct info *i, char *ret_text, size_t bytes)
{
	Libtrace__CpuReceipt sum = LIBTRACE__CPU_RECEIPT__INIT;
	for (size_t n = 0; n < i->c.processes.count; n++) {
		const Libtrace__Receipt *r = i->c.processes.rows[n]->receipt;
		if (r && r->cpu)
			add_cpu(&sum, r->cpu);
	}
	uint64_t few_ns = FEW_SAMPLES * UINT64_C(1000000000) / (sum.frequency ? sum.frequency : 1);
	if (!sum.blocked || sum.process_ns < few_ns || sum.sampled_ns >= sum.process_ns / 2)
		return false;
	snprintf(ret_text, bytes,
		"CPU samples cover %.3f s of %.3f s of processor time, since threads blocked "
		"SIGURG, the signal that takes them",
		(double)sum.sampled_ns / 1e9, (double)sum.process_ns / 1e9);
	return true;
}

static void add_thread_time(Libtrace__ThreadTimeReceipt *sum, const Libtrace__ThreadTimeReceipt *t)
{
	sum->threads += t->threads;
	sum->readings += t->readings;
	sum->inexact += t->inexact;
	sum->looks += t->looks;
	sum->counted += t->counted;
	sum->counters_refused += t->counters_refused;
	if (t->steal_ns > sum->steal_ns) /* of the machine: the same for all processes */
		sum->steal_ns = t->steal_ns;
}

static void add_functions(Libtrace__FunctionReceipt *sum, const Libtrace__FunctionReceipt *f)
{
	sum->functions += f->functions;
	sum->modules += f->modules;
	sum->slots += f->slots;
	sum->patched += f->patched;
	sum->addresses += f->addresses;
	sum->unresolved += f->unresolved;
	sum->no_room += f->no_room;
	sum->excluded += f->excluded;
	sum->looked_up += f->looked_up;
	sum->opencl_enqueued += f->opencl_enqueued;
	sum->opencl_recorded += f->opencl_recorded;
	sum->opencl_no_room += f->opencl_no_room;
	sum->vulkan_submitted += f->vulkan_submitted;
	sum->vulkan_measured += f->vulkan_measured;
	sum->vulkan_unmeasured += f->vulkan_unmeasured;
}

static void add_streams(Libtrace__StreamReceipt *sum, const Libtrace__StreamReceipt *s)
{
	sum->stdout_bytes += s->stdout_bytes;
	sum->stderr_bytes += s->stderr_bytes;
	sum->beyond += s->beyond;
	sum->unrecorded += s->unrecorded;
	sum->no_stdio |= s->no_stdio;
}

static void add_switches(Libtrace__SwitchReceipt *sum, const Libtrace__SwitchReceipt *s)
{
	sum->threads += s->threads;
	sum->switches += s->switches;
	sum->lost += s->lost;
	sum->threads_refused += s->threads_refused;
	sum->threads_missed += s->threads_missed;
}

/* The receipts of all processes, added up. */
struct total {
	Libtrace__Receipt receipt;
	Libtrace__CpuReceipt cpu;
	Libtrace__ThreadTimeReceipt times;
	Libtrace__SwitchReceipt switches;
	Libtrace__FunctionReceipt functions;
	Libtrace__StreamReceipt streams;
	bool has_streams;
	uint64_t drops[REASONS_PRINTED + 1];
};

static void add_receipt(struct total *t, const Libtrace__Receipt *r)
{
	Libtrace__Receipt *sum = &t->receipt;
	sum->produced += r->produced;
	sum->written += r->written;
	sum->summarized += r->summarized;
	sum->abandoned += r->abandoned;
	sum->impossible_times += r->impossible_times;
	sum->unfinished += r->unfinished;
	sum->unaccounted += r->unaccounted;
	sum->callchains += r->callchains;
	sum->callchains_cut += r->callchains_cut;
	sum->tracer_ns += r->tracer_ns;
	if (r->clock_error_ns > sum->clock_error_ns)
		sum->clock_error_ns = r->clock_error_ns;
	if (r->clock_breaks > sum->clock_breaks)
		sum->clock_breaks = r->clock_breaks;
	add_drops(r, t->drops);
	if (r->cpu)
		add_cpu(&t->cpu, r->cpu);
	if (r->thread_time)
		add_thread_time(&t->times, r->thread_time);
	if (r->switches)
		add_switches(&t->switches, r->switches);
	if (r->functions)
		add_functions(&t->functions, r->functions);
	if (r->streams) {
		add_streams(&t->streams, r->streams);
		t->has_streams = true;
	}
}

/* Print the sum of all receipts. patterns: --functions was given. */
static void print_total(FILE *out, const struct process_list *l, bool patterns)
{
	struct total total = {LIBTRACE__RECEIPT__INIT, LIBTRACE__CPU_RECEIPT__INIT,
		LIBTRACE__THREAD_TIME_RECEIPT__INIT, LIBTRACE__SWITCH_RECEIPT__INIT,
		LIBTRACE__FUNCTION_RECEIPT__INIT, LIBTRACE__STREAM_RECEIPT__INIT, false, {0}};
	bool any = false;
	for (size_t n = 0; n < l->count; n++)
		if (l->rows[n]->receipt) {
			add_receipt(&total, l->rows[n]->receipt);
			any = true;
		}
	fputs("\nall processes together:\n", out);
	if (!any) {
		fputs("  receipt: none\n", out);
		return;
	}
	print_receipt(out, &total.receipt, 2);
	if (total.cpu.frequency)
		print_cpu(out, &total.cpu, 2);
	if (total.times.threads)
		print_thread_time(out, &total.times, 2);
	if (total.switches.threads || total.switches.threads_refused ||
		total.switches.threads_missed)
		print_switches(out, &total.switches, 2);
	if (total.functions.modules)
		print_functions(out, &total.functions, 2);
	if (total.functions.modules && patterns && !total.functions.functions)
		fputs("    functions of the C library and the loader are never recorded by "
		      "--functions: record them with --trace=osrt\n",
			out);
	if (total.has_streams)
		print_streams(out, &total.streams, 2);
	print_drops(out, total.drops);
}

void info_process_count(const struct process_list *l, char *ret_text, size_t bytes)
{
	const uint64_t processes = processes_apart(l);
	if (processes < l->count)
		snprintf(ret_text, bytes,
			"%" PRIu64 ", with %zu program images (an exec begins a new one)",
			processes, l->count);
	else
		snprintf(ret_text, bytes, "%" PRIu64, processes);
}

void info_print_processes(FILE *out, const struct process_list *l, bool patterns, bool verbose)
{
	char count[128];
	size_t left = verbose ? SIZE_MAX : PROCESSES_SHOWN;
	struct node *nodes = nodes_make(l);
	if (nodes && !nodes_link(nodes, l->count)) {
		info_process_count(l, count, sizeof(count));
		fprintf(out, "\nprocesses: %s\n", count);
		for (size_t n = 0; n < l->count; n++)
			if (nodes[n].parent == SIZE_MAX)
				print_tree(out, nodes, n, verbose, &left);
	}
	if (!left && l->count > PROCESSES_SHOWN)
		fprintf(out, "  and %zu more; see --verbose\n", l->count - PROCESSES_SHOWN);
	print_total(out, l, patterns);
	free(nodes);
}
