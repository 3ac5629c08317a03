/*
 * info.c - `trace info`: who was recorded, what, when, and whether anything is missing.
 */
#include "reader/cli/info.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reader/cli/print.h"

#define INDENT_MAX 40u

/* Events in the file, of all kinds. */
static uint64_t events_of(const struct process *p)
{
	uint64_t sum = 0;
	for (uint32_t kind = 0; kind < SCHEMA_KINDS; kind++)
		sum += p->events[kind];
	return sum;
}

/* How a process ended. */
static void end_text(const struct process *p, char *ret_text, size_t bytes)
{
	const Libtrace__Process *f = p->facts;
	if (!f->has_end)
		snprintf(ret_text, bytes, "end not known");
	else if (f->end == LIBTRACE__PROCESS_END__END_EXIT)
		snprintf(ret_text, bytes, "exit %d", f->exit_status);
	else if (f->end == LIBTRACE__PROCESS_END__END_EXEC)
		snprintf(ret_text, bytes, "replaced by exec");
	else if (f->end == LIBTRACE__PROCESS_END__END_KILLED)
		snprintf(
			ret_text, bytes, "ended without telling: a signal, a crash, or a raw exit");
	else
		snprintf(ret_text, bytes, "still running when the report was closed");
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

/* What is wrong with the file itself. */
static void verdict_file(const struct info *i, char *text, size_t bytes)
{
	const struct walk_tally *t = &i->c.tally;
	if (i->r.problems)
		verdict_add(text, bytes, "damaged: %" PRIu64 " problems, see 'trace check'",
			i->r.problems);
	if (t->torn_bytes)
		verdict_add(text, bytes, "torn tail: the last %" PRIu64 " bytes are half a block",
			t->torn_bytes);
	if (i->r.report.unfinished)
		verdict_add(text, bytes, "still being written");
}

void info_verdict(const struct info *i, char *ret_text, size_t bytes)
{
	const struct walk_tally *t = &i->c.tally;
	*ret_text = 0;
	if (t->foreign_blocks == t->blocks && t->blocks && !i->r.problems && !t->torn_bytes) {
		snprintf(ret_text, bytes, "not written by libtrace: holds no OS runtime events");
		return;
	}
	verdict_file(i, ret_text, bytes);
	if (i->dropped)
		verdict_add(ret_text, bytes, "%" PRIu64 " events dropped", i->dropped);
	if (i->unended)
		verdict_add(ret_text, bytes,
			"%" PRIu64 " processes without a receipt: the writer did not finish, "
			"try 'trace recover'",
			i->unended);
	if (i->untraced)
		verdict_add(ret_text, bytes, "%" PRIu64 " processes not traced", i->untraced);
	if (i->partly)
		verdict_add(ret_text, bytes, "%" PRIu64 " processes traced in part", i->partly);
	if (!*ret_text)
		snprintf(
			ret_text, bytes, t->blocks ? "complete: nothing lost" : "empty: no blocks");
}

static void print_span(FILE *out, uint64_t ns)
{
	fprintf(out, "%" PRIu64 ".%09" PRIu64 " s", ns / 1000000000, ns % 1000000000);
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
		print_span(out, i->c.last_ns - s->start_ns);
	}
	fputs("\nhost:      ", out);
	const char *parts[] = {s->hostname, s->kernel, s->processor};
	for (size_t n = 0; n < 3; n++)
		if (parts[n]) {
			fputs(n ? ", " : "", out);
			print_text(out, parts[n], strlen(parts[n]));
		}
	fprintf(out, ", %u processors\nversion:   %s\n", s->cpu_count,
		s->library_version ? s->library_version : "?");
	for (size_t n = 0; n < s->n_options; n++) {
		fputs(n ? "           " : "options:   ", out);
		print_text(out, s->options[n], strlen(s->options[n]));
		fputc('\n', out);
	}
}

static void print_file(FILE *out, const struct info *i)
{
	const struct walk_tally *t = &i->c.tally;
	fprintf(out, "report:    %s, ", i->r.path);
	print_grouped(out, i->r.report.source.size);
	fprintf(out, " bytes, %" PRIu64 " blocks", t->blocks);
	if (i->c.compressed_blocks)
		fprintf(out, ", %" PRIu64 " compressed", i->c.compressed_blocks);
	if (t->results || t->sources || t->range_results)
		fprintf(out,
			", %" PRIu64 " results, %" PRIu64 " range results, %" PRIu64 " sources",
			t->results, t->range_results, t->sources);
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
}

static void print_command(FILE *out, const Libtrace__Process *f)
{
	if (!f->n_arguments && f->executable)
		print_text(out, f->executable, strlen(f->executable));
	for (size_t n = 0; n < f->n_arguments; n++) {
		fputs(n ? " " : "", out);
		print_text(out, (const char *)f->arguments[n].data, f->arguments[n].len);
	}
	fputs(f->arguments_truncated ? " ..." : "", out);
}

/* ", 12 things"; nothing when there are none. */
static void print_part(FILE *out, uint64_t number, const char *what)
{
	if (number)
		fprintf(out, ", %" PRIu64 " %s", number, what);
}

static void print_receipt(FILE *out, const struct process *p, unsigned indent)
{
	const Libtrace__Receipt *r = p->receipt;
	fprintf(out, "%*sreceipt: %" PRIu64 " produced, %" PRIu64 " written", (int)indent, "",
		r->produced, r->written);
	print_part(out, r->summarized, "summed up");
	for (size_t n = 0; n < r->n_drops; n++)
		fprintf(out, ", %" PRIu64 " dropped (%s)", r->drops[n]->count,
			schema_drop(r->drops[n]->reason));
	print_part(out, r->abandoned, "abandoned");
	print_part(out, r->impossible_times, "impossible times");
	print_part(out, r->unfinished, "unfinished");
	fprintf(out, "; tracer's own time %" PRIu64 " ns, ", r->tracer_ns);
	if (r->clock_error_ns >= UINT32_MAX)
		fputs("clock rate guessed\n", out);
	else
		fprintf(out, "clock error at most %" PRIu64 " ns\n", r->clock_error_ns);
}

static void print_process(FILE *out, const struct process *p, unsigned depth)
{
	const Libtrace__Process *f = p->facts;
	unsigned indent = 2 * depth + 2 > INDENT_MAX ? INDENT_MAX : 2 * depth + 2;
	char end[96];
	end_text(p, end, sizeof(end));
	fprintf(out, "%*s%u  ", (int)indent, "", f->pid);
	print_command(out, f);
	fprintf(out, "\n%*s%s", (int)indent + 4, "", end);
	if (f->has_end_ns && f->end_ns >= f->start_ns) {
		fputs(" after ", out);
		print_span(out, f->end_ns - f->start_ns);
	}
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
	if (p->receipt)
		print_receipt(out, p, indent + 4);
}

/*
 * Rows in order of start; the parent of each is the latest earlier one with the parent's pid, so
 * there are no circles. SIZE_MAX = none.
 */
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

/* Place of the latest node with this pid in a hash table of places, or of the free entry for it. */
static size_t *pid_slot(size_t *slots, size_t slot_count, const struct node *nodes, uint32_t pid)
{
	size_t at = pid % slot_count;
	while (slots[at] != SIZE_MAX && nodes[slots[at]].process->facts->pid != pid)
		at = (at + 1) % slot_count;
	return &slots[at];
}

static void nodes_link(struct node *nodes, size_t count, size_t *slots, size_t slot_count)
{
	for (size_t n = 0; n < count; n++) {
		const Libtrace__Process *f = nodes[n].process->facts;
		size_t same = *pid_slot(slots, slot_count, nodes, f->pid);
		bool replaces = same != SIZE_MAX &&
			nodes[same].process->facts->end == LIBTRACE__PROCESS_END__END_EXEC;
		size_t up = replaces ? same : *pid_slot(slots, slot_count, nodes, f->parent_pid);
		if (up != SIZE_MAX) {
			struct node *parent = &nodes[up];
			nodes[n].parent = up;
			nodes[n].depth = parent->depth + !replaces;
			*(parent->last_child == SIZE_MAX ? &parent->first_child
							 : &nodes[parent->last_child].next) = n;
			parent->last_child = n;
		}
		*pid_slot(slots, slot_count, nodes, f->pid) = n;
	}
}

/* Depth first, without recursion: a tree may be as deep as it likes. */
static void print_tree(FILE *out, const struct node *nodes, size_t root)
{
	for (size_t n = root; n != SIZE_MAX;) {
		print_process(out, nodes[n].process, nodes[n].depth);
		if (nodes[n].first_child != SIZE_MAX) {
			n = nodes[n].first_child;
			continue;
		}
		while (n != root && nodes[n].next == SIZE_MAX)
			n = nodes[n].parent;
		n = n == root ? SIZE_MAX : nodes[n].next;
	}
}

static void print_processes(FILE *out, const struct process_list *l)
{
	size_t slot_count = 2 * l->count + 1;
	struct node *nodes = nodes_make(l);
	size_t *slots = malloc(slot_count * sizeof(*slots));
	if (nodes && slots) {
		memset(slots, 0xff, slot_count * sizeof(*slots));
		nodes_link(nodes, l->count, slots, slot_count);
		fprintf(out, "\nprocesses: %zu\n", l->count);
		for (size_t n = 0; n < l->count; n++)
			if (nodes[n].parent == SIZE_MAX)
				print_tree(out, nodes, n);
	}
	free(nodes);
	free(slots);
}

static void print_counts(FILE *out, const struct contents *c)
{
	const struct schema_event *event;
	fputs("\nevents:\n", out);
	for (uint32_t n = 0; (event = schema_event_at(n)); n++)
		if (c->events[event->number])
			fprintf(out, "  %-14s %12" PRIu64 "  %s\n", event->name,
				c->events[event->number], event->title);
	if (c->events[0])
		fprintf(out, "  %-14s %12" PRIu64 "  of kinds that this version does not know\n",
			"?", c->events[0]);
	if (c->unknown_entries)
		fprintf(out, "  %" PRIu64 " entries that this version does not know were skipped\n",
			c->unknown_entries);
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

static void print_all(FILE *out, const struct info *i)
{
	char verdict[512];
	print_file(out, i);
	if (i->c.session)
		print_session(out, i);
	if (i->c.processes.count)
		print_processes(out, &i->c.processes);
	if (i->c.tally.foreign_blocks < i->c.tally.blocks)
		print_counts(out, &i->c);
	print_diagnostics(out, &i->c);
	info_verdict(i, verdict, sizeof(verdict));
	fprintf(out, "\nverdict:   %s\n", verdict);
}

static void sum_up(struct info *i)
{
	for (size_t n = 0; n < i->c.processes.count; n++) {
		const struct process *p = i->c.processes.rows[n];
		i->dropped += process_dropped(p);
		i->untraced += p->facts->traced == LIBTRACE__TRACED__TRACED_NO;
		i->partly += p->facts->traced == LIBTRACE__TRACED__TRACED_PARTLY;
		i->unended += !p->receipt && p->facts->traced != LIBTRACE__TRACED__TRACED_NO;
	}
}

int info_gather(struct info *i, const char *file, bool no_wait)
{
	const struct contents_visitor visitor = {&i->r, cli_progress, NULL, cli_problem};
	if (cli_open(&i->r, file, no_wait))
		return STATUS_FAILED;
	contents_init(&i->c);
	int error = contents_read(&i->c, &i->r.report, &visitor);
	cli_progress_end(&i->r);
	sum_up(i);
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

int command_info(const struct options *o)
{
	struct info i = {0};
	const char *file = option_file(o);
	if (!file || info_gather(&i, file, o->value[OPT_info_no_wait]))
		return STATUS_FAILED;
	if (o->value[OPT_info_json])
		info_print_json(stdout, &i);
	else
		print_all(stdout, &i);
	int status = cli_finish(stdout, "standard output");
	if (!status && i.r.problems)
		status = STATUS_DAMAGED;
	info_release(&i);
	return status;
}
