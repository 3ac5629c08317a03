/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - printer of the events of a report, in order of time.
 */
#define _GNU_SOURCE
#include "reader/cli/events.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "reader/cli/base/chains.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/stop.h"
#include "reader/nvtx/decode.h"
#include "reader/report/event_print.h"

struct listing {
	struct cursor cursor;
	struct nvtx_payloads payloads;
	const struct contents_visitor *visitor;
};

static int visit_block(void *user, const struct report_block *block)
{
	struct listing *l = user;
	int error = l->visitor->block ? l->visitor->block(l->visitor->user, block) : 0;
	return error ? error : cursor_add_block(&l->cursor, block);
}

static int visit_batch(void *user, struct walk *walk, const struct event_batch *b)
{
	struct listing *l = user;
	(void)walk;
	return nvtx_payloads_take(&l->payloads, b);
}

static void visit_problem(void *user, uint64_t offset, const char *cause)
{
	struct listing *l = user;
	if (l->visitor->problem)
		l->visitor->problem(l->visitor->user, offset, cause);
}

static bool has_process(const struct contents *c, uint32_t pid)
{
	for (size_t i = 0; i < c->processes.count; i++)
		if (c->processes.rows[i]->facts->pid == pid)
			return true;
	return false;
}

static bool has_string(const struct contents *c, const char *pattern)
{
	for (uint32_t i = 0; i < c->strings.capacity; i++) {
		const struct string_slot *slot = &c->strings.slots[i];
		if (slot->id && slot->ref.bytes && !fnmatch(pattern, slot->ref.text, 0))
			return true;
	}
	return false;
}

/* After nothing was printed, print which names of the filter do not exist in the report. */
static void unknown_selection_note(const struct contents *c, const struct cursor_filter *filter)
{
	if (filter->pid && !has_process(c, filter->pid))
		cli_note("no process %u in the report", filter->pid);
	if (filter->name && !has_string(c, filter->name))
		cli_note("no call of a function that matches '%s' in the report", filter->name);
}

static int print_all(
	const struct event_printer *p, struct listing *l, const struct events_form *form)
{
	struct event_row row;
	bool any = false;
	int error;
	cursor_start(&l->cursor);
	while ((error = cursor_next(&l->cursor, &row)) > 0) {
		if (form->output)
			event_print_output(p, &row, form->output);
		else if (form->json)
			event_print_json(p, &row);
		else
			event_print_text(p, &row);
		if (ferror_unlocked(p->out))
			return -EPIPE;
		if (stop_signal)
			return -EINTR;
		any = true;
	}
	if (!any && !error && form->output)
		cli_note("no output of the program in the report; record it with 'trace run "
			 "--streams=process-tree'");
	if (!any && !error)
		unknown_selection_note(p->contents, &l->cursor.filter);
	return !any && !error && form->some ? -ENODATA : error;
}

int events_print(FILE *out, const struct cli_report *r, const struct contents_visitor *visitor,
	const struct cursor_filter *filter, const struct events_form *form)
{
	struct contents c;
	struct symbols symbols;
	struct listing l = {.visitor = visitor};
	struct cursor_filter raw = *filter;
	const struct contents_visitor index = {&l, visit_block, visit_batch, visit_problem};
	struct event_printer p = {out, &c, form->no_symbols ? NULL : &symbols, 0, &l.payloads};
	contents_init(&c);
	symbols_init(&symbols, &c, form->symbol_path);
	nvtx_payloads_init(&l.payloads, &c);
	cursor_init(&l.cursor, &r->report, &c, &raw);
	/* The origin of times is known only after the pass. So the pass indexes all blocks, and the
	 * times of the filter are set after it. */
	l.cursor.filter.start_ns = 0;
	l.cursor.filter.end_ns = UINT64_MAX;
	int error = contents_read(&c, &r->report, &index);
	p.origin_ns = !form->absolute && c.session ? c.session->start_ns : 0;
	l.cursor.filter.start_ns = raw.start_ns ? raw.start_ns + p.origin_ns : 0;
	l.cursor.filter.end_ns = raw.end_ns ? raw.end_ns + p.origin_ns : UINT64_MAX;
	nvtx_payloads_ready(&l.payloads);
	if (!error)
		error = print_all(&p, &l, form);
	if (!error && !form->json)
		chains_note_unresolved(&symbols);
	if (!error)
		cli_note_cut_off(r, &c);
	cursor_release(&l.cursor);
	nvtx_payloads_release(&l.payloads);
	symbols_release(&symbols);
	contents_release(&c);
	return error;
}
