#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/spool.h"
#include "reader/export/sqlite_writing.h"

#define CHAIN_FRAMES_MAX 128u /* the tracer's own limit; a hostile file has no more */

#define METHOD_BITS (2 * CALLCHAIN_IS_LOST - 1) /* all that callchain_method has */

/* ENUM_STACK_UNWIND_METHOD */
enum unwind_method { UNWIND_FRAME_POINTER = 1, UNWIND_DWARF_EH = 6 };

static const char UNKNOWN[] = "[Unknown]"; /* what nsys calls a module that is not known */

/* What OSRT_CALLCHAINS and CUDA_CALLCHAINS have no columns for: where the source of a frame is. */
static const char *const line_tables[CHAIN_TABLES] = {
	"LIBTRACE_OSRT_CALLCHAINS", "LIBTRACE_CUDA_CALLCHAINS"};

struct frame_row {
	enum nsys_table table;
	uint32_t chain, depth;
	const char *symbol, *module;
	const char *file; /* source; NULL = not known */
	uint32_t line;
	bool unresolved, special;
	uint64_t address; /* 0 = not known */
	uint32_t method;  /* of callchain_method */
};

static int line_put(struct writing *w, const struct frame_row *f)
{
	uint32_t file = 0;
	int error = f->file ? writing_text(w, f->file, &file) : 0;
	const int64_t values[] = {f->chain, f->depth, file, f->line};
	return error || !f->file
		? error
		: writing_numbers(
			  w, &w->chain_lines[f->table == NSYS_CUDA_CALLCHAINS], 0, values, 0);
}

/* Until 2024 nsys had NULL where a mark is not set. */
static int frame_put(struct writing *w, const struct frame_row *f)
{
	uint32_t symbol = 0, module = 0, how = f->method & (CALLCHAIN_IS_CUT - 1);
	int error = writing_text(w, f->symbol, &symbol);
	if (!error)
		error = writing_text(w, f->module, &module);
	if (error)
		return error;
	if (f->table == NSYS_CUDA_CALLCHAINS) {
		/* id, symbol, module, unresolved, originalIP, stackDepth */
		const int64_t values[] = {
			f->chain, symbol, module, f->unresolved, (int64_t)f->address, f->depth};
		return writing_numbers(w, &w->tables[f->table], 0, values,
			(f->unresolved ? 0u : 1u << 3) | (f->address ? 0u : 1u << 4));
	}
	/* id, symbol, module, kernelMode, thumbCode, unresolved, specialEntry, originalIP,
	 * unwindMethod, stackDepth */
	const int64_t values[] = {f->chain, symbol, module, 0, 0, f->unresolved, f->special,
		(int64_t)f->address,
		how == CALLCHAIN_FRAME_POINTER ? UNWIND_FRAME_POINTER : UNWIND_DWARF_EH, f->depth};
	uint64_t nulls =
		(f->special ? 0u : 1u << 6) | (f->address ? 0u : 1u << 7) | (how ? 0u : 1u << 8);
	if (w->database.generation != NSYS_3_24)
		nulls |= 3u << 3 | (f->unresolved ? 0u : 1u << 5);
	return writing_numbers(w, &w->tables[f->table], 0, values, nulls);
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
		f->file = function && s->frames[i].line ? s->frames[i].file : NULL;
		f->line = f->file ? s->frames[i].line : 0;
		error = frame_put(w, f);
		if (!error)
			error = line_put(w, f);
	}
	return error;
}

/* The file of the C library in a process; NULL = not told. */
static const char *libc_path(const struct writing *w, const struct process *p)
{
	for (uint32_t i = 0; i < p->modules.count; i++) {
		const char *path =
			string_table_get(&w->contents.strings, p->modules.modules[i].path).text;
		const char *slash = path ? strrchr(path, '/') : NULL;
		if (slash && !strncmp(slash, "/libc.so.", 9))
			return path;
	}
	return NULL;
}

/* As nsys has it, the chain of a call of the OS runtime begins with the function called. */
static int function_put(
	struct writing *w, const struct process *p, struct frame_row *f, uint32_t function)
{
	struct string_ref name = string_table_get(&w->contents.strings, function);
	if (!name.bytes)
		return 0;
	if (w->libc_process != p->id) {
		w->libc_process = p->id;
		w->libc_path = libc_path(w, p);
	}
	f->symbol = name.text;
	f->module = w->libc_path ? w->libc_path : UNKNOWN;
	int error = frame_put(w, f);
	f->depth++;
	return error;
}

/* Writes the frames of a chain; none: *ret_id stays 0. */
static int chain_put(struct writing *w, const struct writing_chain_wanted *c, uint32_t chain,
	struct time_span *span, uint32_t *ret_id)
{
	uint64_t addresses[CHAIN_FRAMES_MAX];
	bool whole;
	uint32_t count = callchain_addresses(
		&c->process->callchains, c->node, addresses, CHAIN_FRAMES_MAX, &whole);
	struct frame_row f = {.table = c->table, .chain = chain, .method = c->method};
	if (!count)
		return 0;
	int error = c->function ? function_put(w, c->process, &f, c->function) : 0;
	for (uint32_t i = 0; !error && i < count; i++) {
		f.address = addresses[i];
		error = address_put(w, c->process, &f, c->ns, span);
	}
	if (!error && (!whole || c->method & (CALLCHAIN_IS_CUT | CALLCHAIN_IS_LOST))) {
		f.symbol = f.module =
			c->method & CALLCHAIN_IS_CUT ? "[Max depth]" : "[Broken backtraces]";
		f.special = true;
		f.unresolved = false;
		f.address = 0;
		error = frame_put(w, &f);
	}
	if (!error)
		*ret_id = chain;
	return error;
}

/*
 * The next id. Exports of 2022 had CUDA_CALLCHAINS.id one greater than the callchainId of the call,
 * and there are readers that count on it: in that generation CUDA chains have odd ids and stand
 * there again under the next one, so that both ways of joining find the same frames.
 */
static int chain_new(
	struct writing *w, const struct writing_chain_wanted *c, struct writing_chain *made)
{
	uint32_t *last = &w->chain_ids[c->table == NSYS_CUDA_CALLCHAINS], again = 0;
	int error = chain_put(w, c, *last + 1, &made->span, &made->id);
	if (error || !made->id)
		return error;
	++*last;
	if (c->table != NSYS_CUDA_CALLCHAINS || w->database.generation != NSYS_2_9)
		return 0;
	return chain_put(w, c, ++*last, &made->span, &again);
}

int chains_tables_begin(struct writing *w)
{
	int error = 0;
	for (unsigned i = 0; !error && i < CHAIN_TABLES; i++)
		error = writing_table_begin(w, &w->chain_lines[i], line_tables[i],
			"id INTEGER NOT NULL, stackDepth INTEGER NOT NULL, fileId INTEGER NOT "
			"NULL, line INTEGER NOT NULL");
	return error;
}

int chains_tables_end(struct writing *w)
{
	int error = 0;
	for (unsigned i = 0; !error && i < CHAIN_TABLES; i++)
		error = w->chain_lines[i].columns ? page_table_end(&w->chain_lines[i]) : 0;
	return error;
}

int chains_drop_empty(struct writing *w)
{
	int error = 0;
	for (unsigned i = 0; !error && i < CHAIN_TABLES; i++)
		error = writing_drop_if_empty(w, &w->chain_lines[i], line_tables[i]);
	return error;
}

void chains_tables_release(struct writing *w)
{
	for (unsigned i = 0; i < CHAIN_TABLES; i++)
		page_table_release(&w->chain_lines[i]);
}

/* One node is one chain, as long as the same modules are there. */
int writing_chain(struct writing *w, const struct writing_chain_wanted *wanted, uint32_t *ret_id)
{
	struct writing_chain_wanted c = *wanted;
	*ret_id = 0;
	if (!c.node || !c.process || !w->tables[c.table].columns)
		return 0;
	c.process = c.process->memory;
	c.method &= METHOD_BITS;
	const uint64_t key[] = {(uint64_t)c.function << 32 | c.process->id,
		(uint64_t)(c.method | (uint32_t)c.table << 16) << 32 | c.node};
	uint32_t found = map_get(&w->chains, key[0], key[1]);
	struct writing_chain *known = found ? &w->chain_list[found - 1] : NULL,
			     made = {0, {0, UINT64_MAX}};
	if (known && known->span.from_ns <= c.ns && c.ns < known->span.until_ns) {
		*ret_id = known->id;
		return 0;
	}
	int error = chain_new(w, &c, &made);
	if (error)
		return error;
	*ret_id = made.id;
	if (!known) {
		if (array_room(&w->chain_list, w->chain_count, &w->chain_capacity,
			    sizeof(*w->chain_list)) ||
			map_put(&w->chains, key[0], key[1], w->chain_count + 1))
			return -ENOMEM;
		known = &w->chain_list[w->chain_count++];
	}
	*known = made;
	return 0;
}
