/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c - `trace check`: validation of a report.
 *
 * Checks every block by the rules of docs/FORMAT.md, decodes every column and compares every sum.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "reader/cli/commands.h"
#include "reader/cli/base/input.h"
#include "reader/cli/database/input.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"
#include "reader/ncu/results.h"

struct check {
	struct cli_report r;
	int64_t *values;
	const struct contents *contents;
	struct ncu_results results; /* results of Nsight Compute, and their modules */
	uint64_t metrics;           /* metrics of the results that were read */
	/* values computed from the events of the current block, to compare with its header */
	uint64_t events_before, dropped, first_ns, last_ns;
	struct {
		bool any, has_times;
		uint64_t offset, events, dropped, first_ns, last_ns;
	} stated;
};

static void problem(struct check *k, uint64_t offset, const char *cause)
{
	cli_problem(&k->r, offset, cause);
}

/* Compare the previous block, which is complete, with its header. */
static void block_end(struct check *k)
{
	if (!k->stated.any)
		return;
	uint64_t events = k->contents->events_total - k->events_before;
	if (events != k->stated.events)
		problem(k, k->stated.offset, "wrong number of events in a block header");
	if (k->dropped != k->stated.dropped)
		problem(k, k->stated.offset, "wrong number of missing events in a block header");
	if (k->first_ns != UINT64_MAX &&
		(!k->stated.has_times || k->first_ns < k->stated.first_ns ||
			k->last_ns > k->stated.last_ns))
		problem(k, k->stated.offset, "event outside the time range of its block header");
	k->stated.any = false;
}

static int check_block(void *user, const struct report_block *b)
{
	struct check *k = user;
	const Libtrace__BlockExtension *own = b->own;
	struct report_block copy = *b; /* counts the entries without consuming those of the pass */
	struct report_entry e;
	const char *cause;
	block_end(k);
	cli_progress(&k->r, b);
	int error = ncu_results_note(&k->results, b, &cause);
	if (error == -EBADMSG)
		problem(k, b->offset, cause);
	else if (error)
		return error;
	if (!own)
		return 0;
	uint64_t entries = 0;
	while (report_block_entry(&copy, &e, &cause) > 0)
		entries++;
	if (entries != own->num_entries)
		problem(k, b->offset, "wrong number of entries in a block header");
	k->events_before = k->contents->events_total;
	k->dropped = 0;
	k->first_ns = UINT64_MAX;
	k->last_ns = 0;
	k->stated.any = true;
	k->stated.offset = b->offset;
	k->stated.events = own->num_events;
	k->stated.dropped = own->num_dropped;
	k->stated.first_ns = own->first_ns;
	k->stated.last_ns = own->last_ns;
	k->stated.has_times = own->has_first_ns && own->has_last_ns;
	return 0;
}

static bool decode(struct check *k, struct walk *walk, const struct event_batch *b, uint32_t field,
	int64_t *values)
{
	if (!event_batch_column(b, field, values))
		return true;
	problem(k, walk->block.offset, "number of rows of a column differs from that of its batch");
	return false;
}

static void note_times(
	struct check *k, const int64_t *start, const int64_t *duration, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t first = (uint64_t)start[i],
			 last = first + (duration ? (uint64_t)duration[i] : 0);
		k->first_ns = first < k->first_ns ? first : k->first_ns;
		k->last_ns = last > k->last_ns ? last : k->last_ns;
	}
}

static void check_callchains(
	struct check *k, struct walk *walk, const struct event_batch *b, const int64_t *nodes)
{
	const struct process *p = k->contents->processes.by_id[b->process];
	uint32_t parent;
	uint64_t address;
	for (uint32_t i = 0; i < b->count; i++)
		if (nodes[i] &&
			(nodes[i] < 0 || nodes[i] > UINT32_MAX ||
				!callchain_node(&p->memory->callchains, (uint32_t)nodes[i], &parent,
					&address))) {
			problem(k, walk->block.offset,
				"an event refers to a callchain that is not in the file");
			return;
		}
}

static int check_batch(void *user, struct walk *walk, const struct event_batch *b)
{
	struct check *k = user;
	const struct schema_event *event = schema_event(b->kind);
	int64_t *start = k->values, *other = k->values + BATCH_ROWS_MAX;
	int duration = schema_column(event, FIELD_KIND_DURATION),
	    chain = schema_column(event, FIELD_KIND_CALLCHAIN);
	bool spans = duration > 0 && b->kind != KIND_OSRT_SUMMARY;
	for (uint32_t i = 0; i < b->column_count; i++)
		if (!decode(k, walk, b, b->columns[i].field, other))
			return 0;
	if (!decode(k, walk, b, event->fields[0].number, start))
		return 0;
	if (spans && !decode(k, walk, b, event->fields[duration].number, other))
		return 0;
	note_times(k, start, spans ? other : NULL, b->count);
	if (chain > 0 && decode(k, walk, b, event->fields[chain].number, other))
		check_callchains(k, walk, b, other);
	if (b->kind == KIND_GAP && decode(k, walk, b, FIELD_GAP_COUNT, other))
		for (uint32_t i = 0; i < b->count; i++)
			k->dropped += (uint64_t)other[i];
	return 0;
}

static void check_problem(void *user, uint64_t offset, const char *cause)
{
	struct check *k = user;
	problem(k, offset, cause);
}

static void check_receipts(struct check *k, const struct contents *c)
{
	for (size_t i = 0; i < c->processes.count; i++) {
		const struct process *p = c->processes.rows[i];
		uint64_t rows = 0;
		for (uint32_t kind = 0; kind < SCHEMA_KINDS; kind++)
			rows += p->events[kind];
		if (p->receipt && p->receipt->has_written && p->receipt->written != rows) {
			char text[160];
			char pid[16] = "?"; /* its process entry was lost with its block */
			if (p->facts->pid)
				snprintf(pid, sizeof(pid), "%u", p->facts->pid);
			snprintf(text, sizeof(text),
				"the receipt of process %s has %" PRIu64
				" events, the file has %" PRIu64,
				pid, p->receipt->written, rows);
			problem(k, 0, text);
		}
	}
}

static void check_names(struct check *k, const Ncu__ProfileResult *result, uint64_t offset)
{
	for (size_t i = 0; i < result->n_metric_results; i++) {
		const Ncu__ProfileMetricResult *m = result->metric_results[i];
		k->metrics++;
		if (!m->has_name_id || m->name_id < k->results.name_count)
			continue;
		problem(k, offset, "a metric of a result has a name that is in no string table");
		return;
	}
}

/* Check the messages of results and modules; blocks contain only their positions. */
static int check_results(struct check *k)
{
	const struct ncu_results *n = &k->results;
	Ncu__ProfileResult *result;
	Ncu__SourceData *source;
	int error = 0;
	for (size_t i = 0; !error && i < n->count; i++) {
		error = ncu_result_read(n, i, &result);
		if (error == -EBADMSG) {
			problem(k, n->entries[i].offset, "cannot decode the message of a result");
			error = 0;
		} else if (!error) {
			check_names(k, result, n->entries[i].offset);
			ncu__profile_result__free_unpacked(result, NULL);
		}
	}
	for (size_t i = 0; !error && i < n->source_count; i++) {
		error = ncu_source_read(n, i, &source);
		if (error == -EBADMSG) {
			problem(k, n->sources[i].offset, "cannot decode the message of a module");
			error = 0;
		} else if (!error) {
			ncu__source_data__free_unpacked(source, NULL);
		}
	}
	return error;
}

/* Print that processes have no receipt, unless a writer is still writing the report. Returns
 * whether there are any: the report is sound, but its end is missing. */
static bool is_cut_off(const struct check *k, const struct contents *c)
{
	uint64_t unended = k->r.report.unfinished ? 0 : processes_unended(&c->processes);
	if (unended)
		cli_error("'%s': incomplete: %" PRIu64 " process%s without a receipt, since the "
			  "writer did not finish; try 'trace recover'",
			k->r.path, unended, unended == 1 ? "" : "es");
	return unended != 0;
}

static int verdict(struct check *k, const struct contents *c)
{
	const struct walk_tally *t = &c->tally;
	if (t->blocks > t->foreign_blocks && !c->session)
		problem(k, 0, "no session entry");
	check_receipts(k, c);
	bool cut_off = is_cut_off(k, c);
	/* the last block of an unfinished report is still being written */
	uint64_t torn = k->r.report.unfinished ? 0 : t->torn_bytes;
	if (torn)
		cli_error("'%s': torn tail: the last block is truncated (%" PRIu64
			  " bytes) at offset %" PRIu64,
			k->r.path, torn, k->r.report.source.size - torn);
	if (t->foreign_blocks == t->blocks && !k->r.problems && !torn)
		printf("%s: %" PRIu64 " blocks, %" PRIu64 " results, %" PRIu64
		       " sources; not written by libtrace; sound as far as checked: blocks and "
		       "their counts, the message of each result and module, the names of %" PRIu64
		       " metrics\n",
			k->r.path, t->blocks, (uint64_t)k->results.count, t->sources, k->metrics);
	else
		printf("%s: %" PRIu64 " blocks, %" PRIu64 " events: %s\n", k->r.path, t->blocks,
			c->events_total,
			k->r.problems     ? "damaged"
				: torn    ? "torn tail"
				: cut_off ? "incomplete"
					  : "sound");
	return k->r.problems || torn || cut_off ? STATUS_DAMAGED : STATUS_OK;
}

/* Check a database or an XSpace: its pages, and whether its events have what exports need. */
static int check_foreign(const char *file)
{
	struct cli_report r;
	struct contents c;
	struct foreign_facts facts;
	const bool sound = !sql_is_database(file) || input_is_sound(file);
	if (!sound || input_open_foreign(&r, file, &facts))
		return sound ? STATUS_FAILED : STATUS_DAMAGED;
	const struct contents_visitor visitor = {&r, cli_progress, NULL, cli_problem};
	contents_init(&c);
	int error = contents_read(&c, &r.report, &visitor);
	cli_progress_end(&r);
	if (error)
		cli_failed(&r, error);
	else if (facts.impossible)
		cli_error("'%s': %" PRIu64
			  " rows have no time or process, or end before they start",
			file, facts.impossible);
	if (!error)
		printf("%s: %s; %" PRIu64 " events: %s\n", file, facts.format,
			c.events_total - facts.facts,
			facts.impossible ? "damaged"
					 : "sound as far as checked: pages of the file, columns "
					   "and times of events");
	contents_release(&c);
	cli_close(&r);
	int written = cli_finish(stdout, "standard output");
	return error ? STATUS_FAILED : facts.impossible ? STATUS_DAMAGED : written;
}

static int check_file(const struct options *o, const char *file, void *unused)
{
	struct check k = {0};
	struct contents c;
	const struct contents_visitor visitor = {&k, check_block, check_batch, check_problem};
	(void)unused;
	if (sql_file_is_foreign(file))
		return check_foreign(file);
	if (cli_open(&k.r, file, o->value[OPT_check_no_wait]))
		return STATUS_FAILED;
	contents_init(&c);
	k.contents = &c;
	k.values = malloc(2 * BATCH_ROWS_MAX * sizeof(*k.values));
	ncu_results_init(&k.results, &k.r.report);
	int error = k.values ? contents_read(&c, &k.r.report, &visitor) : -ENOMEM;
	block_end(&k);
	if (!error)
		error = check_results(&k);
	cli_progress_end(&k.r);
	int status = error ? cli_failed(&k.r, error) : verdict(&k, &c);
	int written = cli_finish(stdout, "standard output");
	free(k.values);
	ncu_results_release(&k.results);
	contents_release(&c);
	cli_close(&k.r);
	return status ? status : written;
}

int command_check(const struct options *o)
{
	return option_files(o, check_file, NULL);
}
