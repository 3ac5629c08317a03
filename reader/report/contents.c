/* SPDX-License-Identifier: Apache-2.0 */
/* contents.c - one pass over a report, entry by entry. */
#include "reader/report/contents.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"

/* A process entry carries at most a command line. A larger one is damage; merging it once per entry
 * would take quadratic time. */
#define PROCESS_BYTES_MAX 65536
#define DETAILS_BYTES_MAX (1u << 20)

struct pass {
	struct contents *c;
	const struct contents_visitor *visitor;
	struct walk walk;
};

void contents_init(struct contents *c)
{
	*c = (struct contents){
		.first_ns = UINT64_MAX, .module_room = MODULES_MAX, .python_room = PYTHON_ROWS_MAX};
	string_table_init(&c->strings);
	process_list_init(&c->processes);
}

void contents_release(struct contents *c)
{
	if (c->session)
		libtrace__session__free_unpacked(c->session, NULL);
	if (c->details)
		libtrace__session_details__free_unpacked(c->details, NULL);
	free(c->packed);
	for (uint64_t i = 0; i < c->diagnostic_count && i < DIAGNOSTICS_KEPT; i++)
		libtrace__diagnostic__free_unpacked(c->diagnostics[i], NULL);
	free(c->diagnostics);
	for (size_t i = 0; i < c->import_count; i++)
		libtrace__imported__free_unpacked(c->imports[i], NULL);
	free(c->imports);
	for (uint32_t i = 0; i < c->merged_count; i++)
		libtrace__merged__free_unpacked(c->merged[i], NULL);
	free(c->merged);
	string_table_release(&c->strings);
	process_list_release(&c->processes);
	windows_release(&c->windows);
	*c = (struct contents){0};
}

/* Return the column of a batch whose values belong to its process; 0 = none. */
static uint32_t column_of_process(uint32_t kind)
{
	return kind == KIND_GAP             ? FIELD_GAP_COUNT
		: kind == KIND_OSRT_SUMMARY ? FIELD_OSRT_SUMMARY_COUNT
		: kind == KIND_MPI_RANK     ? FIELD_MPI_RANK_RANK
					    : 0;
}

/* Count dropped and summarized calls, and store the rank. */
static int process_rows_take(struct process *p, const struct event_batch *b)
{
	const uint32_t column = column_of_process(b->kind);
	int64_t *values = column ? malloc((b->count + 1) * sizeof(*values)) : NULL;
	if (!values)
		return column ? -ENOMEM : 0;
	int error = event_batch_column(b, column, values);
	for (uint32_t i = 0; !error && i < b->count; i++)
		if (b->kind == KIND_MPI_RANK)
			p->rank = values[i] >= 0 && values[i] < UINT32_MAX ? (uint32_t)values[i] + 1
									   : 0;
		else
			*(b->kind == KIND_GAP ? &p->gap_dropped : &p->summarized) +=
				(uint64_t)values[i];
	free(values);
	return error;
}

static int take_batch(struct pass *pass, const struct report_entry *e, const char **ret_cause)
{
	struct contents *c = pass->c;
	struct event_batch b;
	if (event_batch_parse(&b, e->inner, e->inner_end, ret_cause))
		return -EBADMSG;
	uint32_t kind = b.kind < SCHEMA_KINDS && schema_event(b.kind) ? b.kind : 0;
	struct process *p = process_get(&c->processes, b.process);
	*ret_cause = "impossible process of a batch";
	if (!p)
		return -EBADMSG;
	p->events[kind] += b.count;
	c->events[kind] += b.count;
	c->events_total += b.count;
	*ret_cause = "number of rows of a column differs from that of its batch";
	int error = process_rows_take(p, &b);
	if (!error && (kind == KIND_MODULE_LOAD || kind == KIND_MODULE_UNLOAD))
		error = module_map_add(&p->modules, &b, &c->module_room, ret_cause);
	if (!error && kind == KIND_PYTHON_CODE)
		error = python_codes_add(&p->python, &b, &c->python_room, ret_cause);
	if (error)
		return error;
	if (kind && !report_choose_rows(pass->walk.report, &b))
		return 0;
	c->selected[kind] += b.count;
	return kind && pass->visitor->batch
		? pass->visitor->batch(pass->visitor->user, &pass->walk, &b)
		: 0;
}

static int take_diagnostic(struct contents *c, Libtrace__Diagnostic *d)
{
	c->damage_count += d->damage;
	if (c->diagnostic_count >= DIAGNOSTICS_KEPT) {
		c->diagnostic_count++;
		libtrace__diagnostic__free_unpacked(d, NULL);
		return 0;
	}
	if (!c->diagnostics)
		c->diagnostics = calloc(DIAGNOSTICS_KEPT, sizeof(*c->diagnostics));
	if (!c->diagnostics) {
		libtrace__diagnostic__free_unpacked(d, NULL);
		return -ENOMEM;
	}
	c->diagnostics[c->diagnostic_count++] = d;
	return 0;
}

#define FACTS_MAX 10000u

#define UNPACK(type, e) \
	libtrace__##type##__unpack(NULL, (size_t)((e)->inner_end - (e)->inner), (e)->inner)

/* Move the facts of `more`, a session entry that has only facts, into `session`. Returns 0,
 * -ENOMEM, or -EBADMSG when there are too many. */
static int facts_join(Libtrace__Session *session, Libtrace__Session *more)
{
	size_t count = session->n_facts + more->n_facts;
	char **facts = count < FACTS_MAX
		? realloc(session->facts, (count + 1) * sizeof(*session->facts))
		: NULL;
	if (!facts)
		return count < FACTS_MAX ? -ENOMEM : -EBADMSG;
	for (size_t i = 0; i < more->n_facts; i++)
		facts[session->n_facts + i] = more->facts[i];
	session->facts = facts;
	session->n_facts = count;
	more->n_facts = 0;
	return 0;
}

static int take_session(struct contents *c, const struct report_entry *e)
{
	Libtrace__Session *session = UNPACK(session, e);
	if (!session)
		return -EBADMSG;
	if (c->session && !session->has_start_ns) {
		int error = facts_join(c->session, session);
		libtrace__session__free_unpacked(session, NULL);
		return error;
	}
	if (c->session)
		libtrace__session__free_unpacked(c->session, NULL);
	c->session = session;
	return 0;
}

static int take_strings(struct contents *c, const struct report_entry *e)
{
	Libtrace__Strings *strings = UNPACK(strings, e);
	int error = strings ? string_table_add(&c->strings, strings) : -EBADMSG;
	if (strings)
		libtrace__strings__free_unpacked(strings, NULL);
	return error;
}

static int take_process(struct contents *c, const struct report_entry *e)
{
	Libtrace__Process *facts =
		e->inner_end - e->inner > PROCESS_BYTES_MAX ? NULL : UNPACK(process, e);
	int error = facts ? process_list_add(&c->processes, facts) : -EBADMSG;
	if (facts)
		libtrace__process__free_unpacked(facts, NULL);
	return error;
}

static int take_receipt(struct contents *c, const struct report_entry *e)
{
	Libtrace__Receipt *receipt = UNPACK(receipt, e);
	int error = receipt ? process_list_add_receipt(&c->processes, receipt) : -EBADMSG;
	if (receipt)
		libtrace__receipt__free_unpacked(receipt, NULL);
	return error;
}

static int take_callchains(struct contents *c, const struct report_entry *e, const char **ret_cause)
{
	Libtrace__Callchains *chains = UNPACK(callchains, e);
	*ret_cause = chains ? "impossible process of callchains" : "malformed entry";
	struct process *p = chains ? process_get(&c->processes, chains->process) : NULL;
	int error = p ? callchain_nodes_add(&p->callchains, chains, ret_cause) : -EBADMSG;
	if (chains)
		libtrace__callchains__free_unpacked(chains, NULL);
	return error;
}

static int take_symbols(struct contents *c, const struct report_entry *e, const char **ret_cause)
{
	Libtrace__Symbols *symbols = UNPACK(symbols, e);
	*ret_cause = symbols ? "impossible process of symbols" : "malformed entry";
	struct process *p = symbols ? process_get(&c->processes, symbols->process) : NULL;
	int error = p ? stored_symbols_add(&p->symbols, symbols, ret_cause) : -EBADMSG;
	if (symbols)
		libtrace__symbols__free_unpacked(symbols, NULL);
	return error;
}

static int take_window(struct contents *c, const struct report_entry *e)
{
	Libtrace__Window *window = UNPACK(window, e);
	int error = window ? windows_add(&c->windows, window) : -EBADMSG;
	if (window)
		libtrace__window__free_unpacked(window, NULL);
	return error;
}

static int take_imported(struct contents *c, const struct report_entry *e)
{
	if (c->import_count == IMPORTS_MAX)
		return -EBADMSG;
	if (array_room(&c->imports, c->import_count, &c->import_capacity, sizeof(*c->imports)))
		return -ENOMEM;
	Libtrace__Imported *imported = UNPACK(imported, e);
	if (imported)
		c->imports[c->import_count++] = imported;
	return imported ? 0 : -EBADMSG;
}

static int take_merged(struct contents *c, const struct report_entry *e)
{
	if (c->merged_count == MERGED_MAX)
		return -EBADMSG;
	if (array_room(&c->merged, c->merged_count, &c->merged_capacity, sizeof(*c->merged)))
		return -ENOMEM;
	Libtrace__Merged *merged = UNPACK(merged, e);
	if (merged && merged->session && merged->number == c->merged_count + 1) {
		c->merged[c->merged_count++] = merged;
		return 0;
	}
	if (merged)
		libtrace__merged__free_unpacked(merged, NULL);
	return -EBADMSG;
}

static int take_clock(struct contents *c, const struct report_entry *e)
{
	Libtrace__ClockPoints *points = UNPACK(clock_points, e);
	if (!points)
		return -EBADMSG;
	c->clock_points += points->n_ticks;
	libtrace__clock_points__free_unpacked(points, NULL);
	return 0;
}

static int take_entry(struct pass *pass, const struct report_entry *e, const char **ret_cause)
{
	struct contents *c = pass->c;
	Libtrace__Diagnostic *d;
	*ret_cause = "malformed entry";
	switch (e->kind) {
	case ENTRY_SESSION:
		return take_session(c, e);
	case ENTRY_STRINGS:
		return take_strings(c, e);
	case ENTRY_PROCESS:
		return take_process(c, e);
	case ENTRY_BATCH:
		return take_batch(pass, e, ret_cause);
	case ENTRY_CLOCK:
		return take_clock(c, e);
	case ENTRY_DIAGNOSTIC:
		d = UNPACK(diagnostic, e);
		return d ? take_diagnostic(c, d) : -EBADMSG;
	case ENTRY_RECEIPT:
		return take_receipt(c, e);
	case ENTRY_CALLCHAINS:
		return take_callchains(c, e, ret_cause);
	case ENTRY_SYMBOLS:
		return take_symbols(c, e, ret_cause);
	case ENTRY_WINDOW:
		return take_window(c, e);
	case ENTRY_IMPORTED:
		return take_imported(c, e);
	case ENTRY_MERGED:
		return take_merged(c, e);
	case ENTRY_UNKNOWN:
		break;
	}
	c->unknown_entries++;
	return 0;
}

/* Append the session details of a block to c->packed: protobuf reads concatenated messages as one
 * merged message. */
static int take_details(struct contents *c, const Libtrace__SessionDetails *details)
{
	const size_t more = libtrace__session_details__get_packed_size(details);
	if (!more)
		return 0;
	if (more > DETAILS_BYTES_MAX - c->packed_bytes)
		return 0;
	if (array_reserve(&c->packed, &c->packed_capacity, c->packed_bytes + more, 1))
		return -ENOMEM;
	c->packed_bytes +=
		(uint32_t)libtrace__session_details__pack(details, c->packed + c->packed_bytes);
	return 0;
}

static int details_merge(struct contents *c)
{
	if (!c->packed)
		return 0;
	if (c->details)
		libtrace__session_details__free_unpacked(c->details, NULL);
	c->details = libtrace__session_details__unpack(NULL, c->packed_bytes, c->packed);
	return c->details ? 0 : -ENOMEM;
}

static int take_header(struct contents *c, const struct report_block *b)
{
	const Libtrace__BlockExtension *own = b->own;
	if (own) {
		c->events_stated += own->num_events;
		c->dropped_stated += own->num_dropped;
		c->compressed_blocks += own->compression != LIBTRACE__COMPRESSION__COMPRESSION_NONE;
	}
	if (own && own->has_first_ns && own->first_ns < c->first_ns)
		c->first_ns = own->first_ns;
	if (own && own->has_last_ns && own->last_ns > c->last_ns)
		c->last_ns = own->last_ns;
	return b->header->session_details ? take_details(c, b->header->session_details) : 0;
}

static int take_block(struct pass *pass)
{
	struct report_block *b = &pass->walk.block;
	struct report_entry e;
	const char *cause;
	int error = take_header(pass->c, b);
	if (!error && pass->visitor->block)
		error = pass->visitor->block(pass->visitor->user, b);
	while (!error && b->own) {
		int more = report_block_entry(b, &e, &cause);
		if (more < 0)
			walk_problem(&pass->walk, b->offset, cause);
		if (more <= 0)
			break;
		error = take_entry(pass, &e, &cause);
		if (error == -EBADMSG) {
			walk_problem(&pass->walk, b->offset, cause);
			error = 0;
		}
	}
	return error;
}

void contents_choose_callchains(struct contents *c, enum callchain_view view)
{
	for (size_t i = 0; i < c->processes.count; i++)
		callchain_nodes_choose(&c->processes.rows[i]->callchains, view);
}

int contents_read(
	struct contents *c, const struct report *r, const struct contents_visitor *visitor)
{
	struct pass pass = {.c = c, .visitor = visitor};
	int error;
	walk_start(&pass.walk, r);
	pass.walk.problem = visitor->problem;
	pass.walk.user = visitor->user;
	while ((error = walk_next(&pass.walk)) > 0) {
		error = take_block(&pass);
		if (error)
			break;
	}
	c->tally = pass.walk.tally;
	walk_stop(&pass.walk);
	contents_choose_callchains(c, r->callchains);
	return error ? error : details_merge(c);
}

static int block_batches(struct walk *walk, const struct contents_visitor *visitor)
{
	struct report_entry e;
	struct event_batch b;
	const char *cause;
	int error = visitor->block ? visitor->block(visitor->user, &walk->block) : 0;
	while (!error && walk->block.own && report_block_entry(&walk->block, &e, &cause) > 0)
		if (e.kind == ENTRY_BATCH && !event_batch_parse(&b, e.inner, e.inner_end, &cause) &&
			report_choose_rows(walk->report, &b))
			error = visitor->batch(visitor->user, walk, &b);
	return error;
}

int contents_batches(const struct report *r, const struct contents_visitor *visitor)
{
	struct walk walk;
	int error;
	walk_start(&walk, r);
	while ((error = walk_next(&walk)) > 0) {
		error = block_batches(&walk, visitor);
		if (error)
			break;
	}
	walk_stop(&walk);
	return error;
}

const char *session_fact(const Libtrace__Session *s, const char *name)
{
	const size_t bytes = strlen(name);
	for (size_t i = 0; s && i < s->n_facts; i++)
		if (!strncmp(s->facts[i], name, bytes) && s->facts[i][bytes] == '=')
			return s->facts[i] + bytes + 1;
	return NULL;
}

double contents_tick_ns(const struct contents *c)
{
	const char *text = session_fact(c->session, "counter_hz");
	double hz = text ? strtod(text, NULL) : 0;
	return hz >= 1 && hz < 1e9 ? 1e9 / hz : 0;
}
