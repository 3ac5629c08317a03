#include <errno.h>
#include <stdio.h>

#include "common/spool.h"
#include "reader/export/sqlite_writing.h"

#define CHAIN_FRAMES_MAX 128u /* the tracer's own limit; a hostile file has no more */

#define METHOD_BITS (2 * CALLCHAIN_IS_LOST - 1) /* all that callchain_method has */

/* ENUM_STACK_UNWIND_METHOD */
enum unwind_method { UNWIND_FRAME_POINTER = 1, UNWIND_DWARF_EH = 6 };

static const char UNKNOWN[] = "[Unknown]"; /* what nsys calls a module that is not known */

struct frame_row {
	uint32_t chain, depth;
	const char *symbol, *module;
	bool unresolved, special;
	uint64_t address;
	uint32_t method; /* of callchain_method */
};

static int frame_put(struct writing *w, const struct frame_row *f)
{
	uint32_t symbol = 0, module = 0, how = f->method & (CALLCHAIN_IS_CUT - 1);
	int error = writing_text(w, f->symbol, &symbol);
	if (!error)
		error = writing_text(w, f->module, &module);
	if (error)
		return error;
	/* id, symbol, module, kernelMode, thumbCode, unresolved, specialEntry, originalIP,
	 * unwindMethod, stackDepth */
	const int64_t values[] = {f->chain, symbol, module, 0, 0, f->unresolved, f->special,
		(int64_t)f->address,
		how == CALLCHAIN_FRAME_POINTER ? UNWIND_FRAME_POINTER : UNWIND_DWARF_EH, f->depth};
	uint64_t nulls = (f->special ? 0 : UINT64_C(1) << 6) | (how ? 0 : UINT64_C(1) << 8);
	error = page_table_row(&w->tables[NSYS_OSRT_CALLCHAINS], 0, values, nulls);
	w->output_failed |= error != 0;
	return error;
}

/* The functions of an address, inlined ones first; f->depth counts on. */
static int address_put(struct writing *w, struct process *p, struct frame_row *f, uint64_t ns,
	struct time_span *span)
{
	char hex[24];
	const struct symbol *s = NULL;
	const struct module *m = NULL;
	if (w->job->no_symbols) {
		m = module_map_find(&p->modules, f->address - 1, ns);
		if (m && m->from_ns <= ns && m->from_ns > span->from_ns)
			span->from_ns = m->from_ns;
		if (m && m->until_ns < span->until_ns)
			span->until_ns = m->until_ns;
	} else if (!(s = symbols_find(&w->symbols, p, f->address, ns, span))) {
		return -ENOMEM;
	}
	snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)f->address);
	const char *module = s ? s->module
		: m            ? string_table_get(&w->contents.strings, m->path).text
			       : NULL;
	int error = 0;
	for (uint32_t i = 0; !error && i < (s ? s->frame_count : 1); i++, f->depth++) {
		const char *function = s ? s->frames[i].function : NULL;
		f->symbol = function ? function : hex;
		f->unresolved = !function;
		f->module = module && *module ? module : UNKNOWN;
		error = frame_put(w, f);
	}
	return error;
}

/* Writes the frames of a chain; none: *ret_id stays 0. */
static int chain_put(struct writing *w, struct process *p, uint32_t node, uint32_t method,
	uint64_t ns, struct time_span *span, uint32_t *ret_id)
{
	uint64_t addresses[CHAIN_FRAMES_MAX];
	bool whole;
	uint32_t count =
		callchain_addresses(&p->callchains, node, addresses, CHAIN_FRAMES_MAX, &whole);
	struct frame_row f = {.chain = w->chain_ids + 1, .method = method};
	int error = 0;
	if (!count)
		return 0;
	for (uint32_t i = 0; !error && i < count; i++) {
		f.address = addresses[i];
		error = address_put(w, p, &f, ns, span);
	}
	if (!error && (!whole || method & (CALLCHAIN_IS_CUT | CALLCHAIN_IS_LOST))) {
		f.symbol = f.module =
			method & CALLCHAIN_IS_CUT ? "[Max depth]" : "[Broken backtraces]";
		f.special = true;
		f.unresolved = false;
		f.address = 0;
		error = frame_put(w, &f);
	}
	if (!error)
		*ret_id = ++w->chain_ids;
	return error;
}

/* One node is one chain, as long as the same modules are there. */
int writing_chain(struct writing *w, struct process *p, uint32_t node, uint32_t method, uint64_t ns,
	uint32_t *ret_id)
{
	p = p->memory;
	method &= METHOD_BITS;
	uint64_t key = (uint64_t)method << 32 | node;
	uint32_t found = map_get(&w->chains, p->id, key);
	struct writing_chain *known = found ? &w->chain_list[found - 1] : NULL,
			     made = {0, {0, UINT64_MAX}};
	*ret_id = known ? known->id : 0;
	if (!node || (known && known->span.from_ns <= ns && ns < known->span.until_ns))
		return 0;
	*ret_id = 0;
	int error = chain_put(w, p, node, method, ns, &made.span, &made.id);
	if (error)
		return error;
	*ret_id = made.id;
	if (!known) {
		void *room = array_room(
			w->chain_list, w->chain_count, &w->chain_capacity, sizeof(*w->chain_list));
		w->chain_list = room ? room : w->chain_list;
		if (!room || map_put(&w->chains, p->id, key, w->chain_count + 1))
			return -ENOMEM;
		known = &w->chain_list[w->chain_count++];
	}
	*known = made;
	return 0;
}
