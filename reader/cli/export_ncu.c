#include "reader/cli/export_ncu.h"

#include <inttypes.h>

#include "reader/export/ncu.h"

struct indexing {
	struct cursor cursor;
	const struct contents_visitor *visitor;
	struct ncu_devices devices;
};

static int visit_block(void *user, const struct report_block *block)
{
	struct indexing *x = user;
	int error = cursor_add_block(&x->cursor, block);
	return error ? error : x->visitor->block(x->visitor->user, block);
}

static int visit_batch(void *user, struct walk *walk, const struct event_batch *batch)
{
	struct indexing *x = user;
	(void)walk;
	return ncu_devices_collect(&x->devices, batch);
}

static void visit_problem(void *user, uint64_t offset, const char *cause)
{
	struct indexing *x = user;
	x->visitor->problem(x->visitor->user, offset, cause);
}

static void note_tally(const char *path, const struct ncu_tally *t)
{
	if (!t->launches)
		cli_note("%s: no kernel was launched", path);
	if (t->without_call)
		cli_note("%s: of %" PRIu64 " launches, %" PRIu64
			 " have no call in the report: no thread, NVTX ranges and callchain",
			path, t->launches, t->without_call);
	if (t->ranges_left_out)
		cli_note("%s: %" PRIu64 " NVTX ranges left out: too many were open at a time", path,
			t->ranges_left_out);
	if (t->states_left_out)
		cli_note("%s: %" PRIu64 " calls are without their NVTX ranges: too many were open",
			path, t->states_left_out);
}

int export_ncu(FILE *out, struct cli_report *r, const struct contents_visitor *visitor,
	const char *symbol_path, bool no_symbols)
{
	static struct indexing x;
	struct contents c;
	struct symbols symbols;
	struct ncu_tally tally;
	const struct cursor_filter all = {.end_ns = UINT64_MAX};
	const struct contents_visitor index = {&x, visit_block, visit_batch, visit_problem};
	x.visitor = visitor;
	contents_init(&c);
	symbols_init(&symbols, &c, symbol_path);
	symbols.no_names = no_symbols;
	cursor_init(&x.cursor, &r->report, &c, &all);
	int error = contents_read(&c, &r->report, &index);
	if (!error)
		error = ncu_write(out, &x.cursor, &symbols, &x.devices, &tally);
	if (!error) {
		note_tally(r->path, &tally);
		cli_note_cut_off(r, &c);
	}
	cursor_release(&x.cursor);
	symbols_release(&symbols);
	contents_release(&c);
	return error;
}
