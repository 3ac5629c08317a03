/* SPDX-License-Identifier: Apache-2.0 */
/* chains.c - rows of callchains, one per frame. */
#include "reader/export/sqlite/chains.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/spool.h"
#include "reader/export/sqlite/export_state.h"

/* limit of the tracer, native and Python frames; further frames of a hostile file are left out */
#define CHAIN_FRAMES_MAX 256u

#define METHOD_BITS (2 * CALLCHAIN_IS_LOST - 1) /* all bits of callchain_method */

/* ENUM_STACK_UNWIND_METHOD */
enum unwind_method { UNWIND_FRAME_POINTER = 1, UNWIND_DWARF_EH = 6 };

static const char UNKNOWN[] = "[Unknown]"; /* name that nsys gives an unknown module */

/* Tables of source lines, for which OSRT_CALLCHAINS and CUDA_CALLCHAINS have no columns. */
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
	bool exact;       /* the address is that of an interrupted instruction, plus 1 */
	uint32_t method;  /* bits of callchain_method */
};

/* Add the source line of a frame, if it is known. */
static int line_put(struct sqlite_export *x, const struct frame_row *f)
{
	uint32_t file = 0;
	bool wanted = f->file && f->table != NSYS_SAMPLING_CALLCHAINS;
	int error = wanted ? text_id(&x->texts, f->file, &file) : 0;
	const int64_t values[] = {f->chain, f->depth, file, f->line};
	return error || !wanted
		? error
		: bulk_table_numbers(&x->chains.lines[f->table == NSYS_CUDA_CALLCHAINS], values, 0);
}

/* Add a frame. Until 2024, nsys wrote NULL for flags that are not set. */
static int frame_put(struct sqlite_export *x, const struct frame_row *f)
{
	uint32_t symbol = 0, module = 0, how = f->method & (CALLCHAIN_IS_CUT - 1);
	int error = text_id(&x->texts, f->symbol, &symbol);
	if (!error)
		error = text_id(&x->texts, f->module, &module);
	if (error)
		return error;
	if (f->table == NSYS_CUDA_CALLCHAINS) {
		/* id, symbol, module, unresolved, originalIP, stackDepth */
		const int64_t values[] = {
			f->chain, symbol, module, f->unresolved, (int64_t)f->address, f->depth};
		return bulk_table_numbers(&x->nsys.tables[f->table], values,
			(f->unresolved ? 0u : 1u << 3) | (f->address ? 0u : 1u << 4));
	}
	/* id, symbol, module, kernelMode, thumbCode, unresolved, specialEntry, originalIP,
	 * unwindMethod, stackDepth */
	const int64_t values[] = {f->chain, symbol, module, 0, 0, f->unresolved, f->special,
		(int64_t)(f->address - f->exact),
		how == CALLCHAIN_FRAME_POINTER ? UNWIND_FRAME_POINTER : UNWIND_DWARF_EH, f->depth};
	uint64_t nulls =
		(f->special ? 0u : 1u << 6) | (f->address ? 0u : 1u << 7) | (how ? 0u : 1u << 8);
	if (x->database.generation != NSYS_3_24)
		nulls |= 3u << 3 | (f->unresolved ? 0u : 1u << 5);
	return bulk_table_numbers(&x->nsys.tables[f->table], values, nulls);
}

/* Add the functions of an address, inlined ones first, and advance f->depth. */
static int address_put(struct sqlite_export *x, struct process *p, struct frame_row *f, uint64_t ns,
	struct time_span *span)
{
	char hex[24];
	const struct symbol *s = NULL;
	const struct module *m = NULL;
	if (x->job->no_symbols) {
		m = module_map_find(&p->modules, f->address - 1, ns);
		if (m && m->from_ns <= ns && m->from_ns > span->from_ns)
			span->from_ns = m->from_ns;
		if (m && m->until_ns < span->until_ns)
			span->until_ns = m->until_ns;
	} else if (!(s = symbols_find(&x->symbols, p, f->address, ns, span))) {
		return -ENOMEM;
	}
	snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)f->address - f->exact);
	const char *module = s ? s->module
		: m            ? string_table_get(&x->contents.strings, m->path).text
			       : NULL;
	int error = 0;
	for (uint32_t i = 0; !error && i < (s ? s->frame_count : 1); i++, f->depth++) {
		const char *function = s ? s->frames[i].function : NULL;
		f->symbol = function ? function : hex;
		f->unresolved = !function;
		f->module = module && *module ? module : UNKNOWN;
		f->file = function && s->frames[i].line ? s->frames[i].file : NULL;
		f->line = f->file ? s->frames[i].line : 0;
		error = frame_put(x, f);
		if (!error)
			error = line_put(x, f);
	}
	return error;
}

/* Return the path of the C library of a process; NULL = not known. */
static const char *libc_path(const struct sqlite_export *x, const struct process *p)
{
	for (uint32_t i = 0; i < p->modules.count; i++) {
		const char *path =
			string_table_get(&x->contents.strings, p->modules.modules[i].path).text;
		const char *slash = path ? strrchr(path, '/') : NULL;
		if (slash && !strncmp(slash, "/libc.so.", 9))
			return path;
	}
	return NULL;
}

/* Add the called function, with which nsys begins the callchain of an OS runtime call. */
static int function_put(
	struct sqlite_export *x, const struct process *p, struct frame_row *f, uint32_t function)
{
	struct string_ref name = string_table_get(&x->contents.strings, function);
	if (!name.bytes)
		return 0;
	if (x->chains.libc_process != p->id) {
		x->chains.libc_process = p->id;
		x->chains.libc_path = libc_path(x, p);
	}
	f->symbol = name.text;
	f->module = x->chains.libc_path ? x->chains.libc_path : UNKNOWN;
	int error = frame_put(x, f);
	f->depth++;
	return error;
}

/* Add a row in place of missing frames. */
static int special_put(struct sqlite_export *x, struct frame_row *f, const char *text)
{
	struct frame_row row = *f;
	row.symbol = row.module = text;
	row.special = true;
	row.unresolved = row.exact = false;
	row.address = 0;
	f->depth++;
	return frame_put(x, &row);
}

/* Write the frames of a callchain. *ret_id stays 0 if it has no frames. */
static int chain_put(struct sqlite_export *x, const struct wanted_chain *c, uint32_t chain,
	struct time_span *span, uint32_t *ret_id)
{
	uint64_t addresses[CHAIN_FRAMES_MAX];
	bool whole;
	uint32_t count = callchain_addresses(
		&c->process->callchains, c->node, addresses, CHAIN_FRAMES_MAX, &whole);
	struct frame_row f = {.table = c->table, .chain = chain, .method = c->method};
	if (!count)
		return 0;
	int error = c->function ? function_put(x, c->process, &f, c->function) : 0;
	if (!error && c->in_step)
		error = special_put(x, &f, "[In step with the kernel's tick]");
	for (uint32_t i = 0; !error && i < count; i++) {
		f.address = addresses[i];
		f.exact = i == 0 && c->table == NSYS_SAMPLING_CALLCHAINS && !c->in_step;
		error = address_put(x, c->process, &f, c->ns, span);
	}
	if (!error && (!whole || c->method & (CALLCHAIN_IS_CUT | CALLCHAIN_IS_LOST)))
		error = special_put(x, &f,
			c->method & CALLCHAIN_IS_CUT ? "[Max depth]" : "[Broken backtraces]");
	if (!error)
		*ret_id = chain;
	return error;
}

/*
 * Write a callchain under the next id. Exports of 2022 had CUDA_CALLCHAINS.id one greater than the
 * callchainId of the call, and some readers rely on it: in that generation CUDA callchains have odd
 * ids and are written again under the next id, so that both ways of joining find the same frames.
 */
static int chain_new(
	struct sqlite_export *x, const struct wanted_chain *c, struct known_chain *made)
{
	uint32_t *last = &x->chains.last_ids[c->table == NSYS_CUDA_CALLCHAINS], again = 0;
	int error = chain_put(x, c, *last + 1, &made->span, &made->id);
	if (error || !made->id)
		return error;
	++*last;
	if (c->table != NSYS_CUDA_CALLCHAINS || x->database.generation != NSYS_2_9)
		return 0;
	return chain_put(x, c, ++*last, &made->span, &again);
}

int chains_begin(struct sqlite_export *x)
{
	int error = 0;
	for (unsigned i = 0; !error && i < CHAIN_TABLES; i++)
		error = bulk_table_begin(&x->chains.lines[i], &x->database, line_tables[i],
			"id INTEGER NOT NULL, stackDepth INTEGER NOT NULL, fileId INTEGER NOT "
			"NULL, line INTEGER NOT NULL");
	return error;
}

int chains_end(struct sqlite_export *x)
{
	int error = 0;
	for (unsigned i = 0; !error && i < CHAIN_TABLES; i++)
		error = bulk_table_end(&x->chains.lines[i]);
	return error;
}

void chains_release(struct sqlite_export *x)
{
	for (unsigned i = 0; i < CHAIN_TABLES; i++)
		bulk_table_release(&x->chains.lines[i]);
	map_release(&x->chains.known);
	free(x->chains.list);
}

void chains_report_end(struct sqlite_export *x)
{
	map_release(&x->chains.known);
	x->chains.count = 0;
	x->chains.libc_process = 0;
}

int chain_id(struct sqlite_export *x, const struct wanted_chain *wanted, uint32_t *ret_id)
{
	struct wanted_chain c = *wanted;
	*ret_id = 0;
	if (!c.node || !c.process || !bulk_table_is_open(&x->nsys.tables[c.table]))
		return 0;
	c.process = c.process->memory;
	c.method &= METHOD_BITS;
	const uint64_t key[] = {(uint64_t)c.function << 32 | c.process->id,
		(uint64_t)(c.method | (uint32_t)c.table << 16) << 32 | c.node};
	uint32_t found = map_get(&x->chains.known, key[0], key[1]);
	struct known_chain *known = found ? &x->chains.list[found - 1] : NULL,
			   made = {0, {0, UINT64_MAX}};
	if (known && known->span.from_ns <= c.ns && c.ns < known->span.until_ns) {
		*ret_id = known->id;
		return 0;
	}
	int error = chain_new(x, &c, &made);
	if (error)
		return error;
	*ret_id = made.id;
	if (!known) {
		if (array_room(&x->chains.list, x->chains.count, &x->chains.capacity,
			    sizeof(*x->chains.list)) ||
			map_put(&x->chains.known, key[0], key[1], x->chains.count + 1))
			return -ENOMEM;
		known = &x->chains.list[x->chains.count++];
	}
	*known = made;
	return 0;
}

int chain_of_sample(struct sqlite_export *x, const struct wanted_chain *wanted, uint32_t id)
{
	struct wanted_chain c = *wanted;
	struct time_span span = {0, UINT64_MAX};
	uint32_t written = 0;
	if (!c.node || !c.process || !bulk_table_is_open(&x->nsys.tables[c.table]))
		return 0;
	c.process = c.process->memory;
	c.method &= METHOD_BITS;
	return chain_put(x, &c, id, &span, &written);
}

int chain_id_of_row(struct sqlite_export *x, const struct decoded_batch *b, uint32_t row,
	enum nsys_table table, uint32_t *ret_id)
{
	const uint32_t kind = b->event->number;
	const struct wanted_chain wanted = {.process = b->process,
		.node = (uint32_t)b->chain[row],
		.method = b->method ? (uint32_t)b->method[row] : 0,
		.function = kind == KIND_OSRT_CALL
			? (uint32_t)decoded_column(b, FIELD_OSRT_CALL_FUNCTION)[row]
			: 0,
		.table = table,
		.ns = (uint64_t)b->columns[0][row] +
			(b->duration ? (uint64_t)b->duration[row] : 0)};
	return chain_id(x, &wanted, ret_id);
}
