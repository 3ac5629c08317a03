/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - copies the blocks of a report into a merged one. */
#define _GNU_SOURCE
#include "reader/merge/copy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNPACK(type, e) \
	libtrace__##type##__unpack(NULL, (size_t)((e)->inner_end - (e)->inner), (e)->inner)

/* Replace an id of a process in a message. Returns 0 or -ENOMEM. */
static int process_change(struct copy *c, uint32_t *id)
{
	const uint32_t before = *id;
	*id = copy_process(c, before);
	return before && !*id ? -ENOMEM : 0;
}

static void times_change(const struct copy *c, uint64_t *times, size_t count)
{
	for (size_t i = 0; i < count; i++)
		times[i] = copy_time(c, times[i]);
}

static void texts_change(const struct copy *c, uint32_t *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ids[i] = copy_text(c, ids[i]);
}

/* Add the texts that the merged report does not have yet. */
static int strings_copy(struct copy *c, Libtrace__Entry *entry)
{
	Libtrace__Strings *s = entry->strings;
	size_t kept = 0;
	if (s->n_ids != s->n_texts)
		return -EBADMSG;
	for (size_t i = 0; i < s->n_ids; i++) {
		bool is_new;
		const uint32_t id =
			merge_text(c->m, (const char *)s->texts[i].data, s->texts[i].len, &is_new);
		if (!id || (s->ids[i] && map_put(&c->texts, s->ids[i], 0, id)))
			return -ENOMEM;
		if (!is_new)
			continue;
		const ProtobufCBinaryData text = s->texts[i];
		s->texts[i] = s->texts[kept];
		s->texts[kept] = text;
		s->ids[kept++] = id;
	}
	const size_t count = s->n_ids;
	s->n_ids = s->n_texts = kept;
	if (kept)
		append_entry(&c->m->append, entry);
	s->n_ids = s->n_texts = count; /* all are freed */
	return 0;
}

static int process_copy(struct copy *c, Libtrace__Entry *entry)
{
	Libtrace__Process *p = entry->process;
	int error = process_change(c, &p->id);
	if (!error && p->has_previous_id)
		error = process_change(c, &p->previous_id);
	if (!error && p->has_memory_of)
		error = process_change(c, &p->memory_of);
	uint64_t *const times[] = {
		&p->start_ns, &p->end_ns, &p->end_earliest_ns, &p->end_latest_ns};
	for (size_t i = 0; i < 4; i++)
		times_change(c, times[i], 1);
	p->has_report = true;
	p->report = c->number;
	append_entry(&c->m->append, entry);
	return error;
}

static int clock_copy(struct copy *c, Libtrace__Entry *entry)
{
	const int error = process_change(c, &entry->clock->process);
	times_change(c, entry->clock->mono_ns, entry->clock->n_mono_ns);
	append_entry(&c->m->append, entry);
	return error;
}

static int diagnostic_copy(struct copy *c, Libtrace__Entry *entry)
{
	Libtrace__Diagnostic *d = entry->diagnostic;
	char *text = NULL, *before = d->text;
	times_change(c, &d->time_ns, 1);
	if (asprintf(&text, "%s: %s", c->in->name, before ? before : "") < 0)
		return -ENOMEM;
	d->text = text;
	append_entry(&c->m->append, entry);
	d->text = before;
	free(text);
	return 0;
}

static int receipt_copy(struct copy *c, Libtrace__Entry *entry)
{
	Libtrace__Receipt *r = entry->receipt;
	const int error = process_change(c, &r->process);
	for (size_t i = 0; i < r->n_drops; i++) {
		times_change(c, &r->drops[i]->first_ns, 1);
		times_change(c, &r->drops[i]->last_ns, 1);
	}
	append_entry(&c->m->append, entry);
	return error;
}

static int callchains_copy(struct copy *c, Libtrace__Entry *entry)
{
	const int error = process_change(c, &entry->callchains->process);
	append_entry(&c->m->append, entry);
	return error;
}

static int symbols_copy(struct copy *c, Libtrace__Entry *entry)
{
	Libtrace__Symbols *s = entry->symbols;
	const int error = process_change(c, &s->process);
	texts_change(c, s->functions, s->n_functions);
	texts_change(c, s->files, s->n_files);
	texts_change(c, s->modules, s->n_modules);
	texts_change(c, s->reasons, s->n_reasons);
	append_entry(&c->m->append, entry);
	return error;
}

static int window_copy(struct copy *c, Libtrace__Entry *entry)
{
	Libtrace__Window *w = entry->window;
	w->number += c->windows;
	if (w->number > c->m->last_window)
		c->m->last_window = w->number;
	times_change(c, &w->start_ns, 1);
	times_change(c, &w->end_ns, 1);
	append_entry(&c->m->append, entry);
	return 0;
}

static int imported_copy(struct copy *c, Libtrace__Entry *entry)
{
	append_entry(&c->m->append, entry);
	return 0;
}

static int (*const copiers[])(struct copy *c, Libtrace__Entry *entry) = {
	[ENTRY_STRINGS] = strings_copy,
	[ENTRY_PROCESS] = process_copy,
	[ENTRY_CLOCK] = clock_copy,
	[ENTRY_DIAGNOSTIC] = diagnostic_copy,
	[ENTRY_RECEIPT] = receipt_copy,
	[ENTRY_CALLCHAINS] = callchains_copy,
	[ENTRY_SYMBOLS] = symbols_copy,
	[ENTRY_WINDOW] = window_copy,
	[ENTRY_IMPORTED] = imported_copy,
};

static int entry_copy(struct copy *c, const struct report_entry *e, const char **ret_cause)
{
	if (e->kind == ENTRY_SESSION)
		return 0; /* in the description of the report */
	if (e->kind == ENTRY_BATCH)
		return copy_batch(c, e, ret_cause);
	*ret_cause = e->kind == ENTRY_MERGED ? "it is a merged report; merge its parts"
					     : "it has entries of a newer version";
	if (e->kind == ENTRY_UNKNOWN || e->kind == ENTRY_MERGED)
		return -EBADMSG;
	*ret_cause = "malformed entry";
	Libtrace__Entry *entry =
		libtrace__entry__unpack(NULL, (size_t)(e->message_end - e->message), e->message);
	if (!entry)
		return -EBADMSG;
	const bool has_field = ((void *const[]){[ENTRY_STRINGS] = entry->strings,
				       [ENTRY_PROCESS] = entry->process,
				       [ENTRY_CLOCK] = entry->clock,
				       [ENTRY_DIAGNOSTIC] = entry->diagnostic,
				       [ENTRY_RECEIPT] = entry->receipt,
				       [ENTRY_CALLCHAINS] = entry->callchains,
				       [ENTRY_SYMBOLS] = entry->symbols,
				       [ENTRY_WINDOW] = entry->window,
				       [ENTRY_IMPORTED] = entry->imported})[e->kind] != NULL;
	const int error = has_field ? copiers[e->kind](c, entry) : -EBADMSG;
	libtrace__entry__free_unpacked(entry, NULL);
	return error;
}

/* ---- standard entries ---- */

/* Return the size of the standard entries at the start of a payload, whose sizes were checked. */
static size_t standard_bytes(const struct report_block *b)
{
	const Libtrace__BlockHeader *h = b->header;
	uint64_t count = (uint64_t)h->num_sources + h->num_results + h->num_range_results;
	size_t at = 0;
	for (; count; count--)
		at += 4 +
			((size_t)b->stored[at] | (size_t)b->stored[at + 1] << 8 |
				(size_t)b->stored[at + 2] << 16 | (size_t)b->stored[at + 3] << 24);
	return at;
}

/* Check that the metrics of a block have the same names as those of other blocks, by number. */
static int metric_names_check(struct merge *m, const Libtrace__StringTable *names)
{
	const size_t bytes = names ? libtrace__string_table__get_packed_size(names) : 0;
	uint8_t *packed = malloc(bytes + 1);
	if (!packed)
		return -ENOMEM;
	if (names)
		libtrace__string_table__pack(names, packed);
	const bool is_first = !m->metric_names.bytes,
		   same = bytes == m->metric_names.bytes &&
		(!bytes || !memcmp(packed, m->metric_names.data, bytes));
	const int error = is_first ? buffer_add(&m->metric_names, packed, bytes)
		: same             ? 0
				   : -EBADMSG;
	free(packed);
	return error;
}

/* Copy results of kernels and code of modules. */
static int standard_copy(struct copy *c, const struct report_block *b, const char **ret_cause)
{
	const Libtrace__BlockHeader *h = b->header;
	struct append *a = &c->m->append;
	*ret_cause = "it has results of command lists or graphs";
	if (h->num_cmdlist_results || h->num_graph_results)
		return -EBADMSG;
	const size_t bytes = standard_bytes(b);
	if (!bytes)
		return 0;
	*ret_cause =
		"its results of kernels have other metrics than those of the reports before it";
	int error = h->num_results ? metric_names_check(c->m, h->string_table) : 0;
	if (!error)
		error = buffer_add(&a->standard, b->stored, bytes);
	a->num_sources = h->num_sources;
	a->num_results = h->num_results;
	a->num_range_results = h->num_range_results;
	a->metric_names = h->string_table;
	return error;
}

/* ---- blocks ---- */

static int block_copy(struct copy *c, struct report_block *b, const char **ret_cause)
{
	struct report_entry e;
	int more = 0;
	if (!c->m->append.has_process && b->header->process) {
		const uint64_t next = c->m->append.next_sequence;
		append_note(&c->m->append, b); /* the process of all headers */
		c->m->append.next_sequence = next;
		c->m->append.compress = true;
	}
	int error = standard_copy(c, b, ret_cause);
	while (!error && (more = report_block_entry(b, &e, ret_cause)) > 0)
		error = entry_copy(c, &e, ret_cause);
	append_seal(&c->m->append);
	return error ? error : more < 0 ? more : merge_flush(c->m, false);
}

/* Say in the merged report that the end of a report is missing. */
static void damage_put(struct copy *c, bool unfinished)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Diagnostic diagnostic = LIBTRACE__DIAGNOSTIC__INIT;
	char text[512];
	snprintf(text, sizeof(text), "%.400s: %s", c->in->name,
		unfinished ? "it was still being written when it was merged"
			   : "its last block was truncated");
	diagnostic.text = text;
	diagnostic.has_damage = diagnostic.damage = true;
	entry.diagnostic = &diagnostic;
	append_entry(&c->m->append, &entry);
	append_seal(&c->m->append);
}

static int blocks_copy(struct copy *c, const struct report *r, const char **ret_cause)
{
	struct walk walk;
	int error = 0, more = 0;
	walk_start(&walk, r);
	while (!error && (more = walk_next(&walk)) > 0)
		error = block_copy(c, &walk.block, ret_cause);
	if (!error && !more && (r->unfinished || walk.tally.torn_bytes))
		damage_put(c, r->unfinished);
	walk_stop(&walk);
	return error ? error : more;
}

int merge_copy(struct merge *m, uint32_t index, const struct report *r, const char **ret_cause)
{
	const struct merge_input *in = &m->inputs[index];
	const struct clock_map *map = &m->hosts.rows[in->host].map;
	struct copy c = {.m = m,
		.in = in,
		.number = m->is_separate ? 1 : index + 1,
		.map = clock_map_is_identity(map) ? NULL : map,
		.windows = m->last_window,
		.starts = malloc(BATCH_ROWS_MAX * sizeof(*c.starts)),
		.values = malloc(BATCH_ROWS_MAX * sizeof(*c.values))};
	*ret_cause = "it changes while it is read";
	int error = r->source.size != in->bytes ? -EBADMSG
		: c.starts && c.values          ? blocks_copy(&c, r, ret_cause)
						: -ENOMEM;
	free(c.starts);
	free(c.values);
	free(c.batch.data);
	free(c.column.data);
	map_release(&c.texts);
	map_release(&c.processes);
	return error;
}
