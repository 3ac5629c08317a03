/* SPDX-License-Identifier: Apache-2.0 */
/* symbols.c - resolution of an address to function, line and inlined functions. */
#define _GNU_SOURCE
#include "reader/symbols/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/python_lines.h"
#include "common/text.h"
#include "reader/report/contents.h"
#include "reader/symbols/binary.h"
#include "reader/symbols/callchains.h"
#include "reader/symbols/jit.h"

/* A binary opened once, by path and build-id, for all processes that mapped it. */
struct opened_binary {
	const char *path;
	const char *reason;    /* reason why the binary could not be opened */
	struct binary *binary; /* NULL = not opened */
};

void symbols_init(struct symbols *s, struct contents *contents, const char *symbol_path)
{
	*s = (struct symbols){.contents = contents, .symbol_path = symbol_path};
}

void symbols_release(struct symbols *s)
{
	for (uint32_t i = 0; i < s->binary_count; i++)
		binary_close(s->binaries[i].binary);
	map_release(&s->binary_places);
	free(s->binaries);
	map_release(&s->places);
	free(s->answers);
	jit_maps_free(s->jit);
	pool_release(&s->pool);
	*s = (struct symbols){0};
}

static const char *string_text(struct symbols *s, uint32_t id)
{
	struct string_ref text = string_table_get(&s->contents->strings, id);
	return pool_text(&s->pool, text.text, text.bytes);
}

static struct symbol *symbol_new(
	struct symbols *s, const struct symbol_frame *frames, uint32_t count)
{
	struct symbol *symbol =
		pool_room(&s->pool, sizeof(*symbol) + (count ? count : 1) * sizeof(*frames));
	if (!symbol)
		return NULL;
	*symbol = (struct symbol){.frame_count = count ? count : 1};
	if (count)
		memcpy(symbol->frames, frames, count * sizeof(*frames));
	else
		symbol->frames[0] = (struct symbol_frame){0};
	return symbol;
}

static const struct opened_binary *binary_of(struct symbols *s, const struct module *module)
{
	const char *path = string_text(s, module->path),
		   *build_id = string_text(s, module->build_id);
	if (!path || !build_id)
		return NULL;
	uint64_t a = (uintptr_t)path, b = (uintptr_t)build_id;
	uint32_t place = map_get(&s->binary_places, a, b);
	if (place)
		return &s->binaries[place - 1];
	if (array_room(&s->binaries, s->binary_count, &s->binary_capacity, sizeof(*s->binaries)) ||
		map_put(&s->binary_places, a, b, s->binary_count + 1))
		return NULL;
	struct opened_binary *opened = &s->binaries[s->binary_count++];
	*opened = (struct opened_binary){.path = path};
	opened->binary = binary_open(path, build_id, s->symbol_path, &s->pool, &opened->reason);
	return opened;
}

static const struct symbol *of_module(
	struct symbols *s, uint64_t address, const struct module *module)
{
	struct symbol_frame frames[BINARY_FRAMES_MAX];
	const struct opened_binary *b = binary_of(s, module);
	if (!b)
		return NULL;
	uint64_t file_address = address - module->bias, offset = UINT64_MAX;
	const char *reason = b->reason;
	/* a return address follows the call instruction */
	uint32_t count = b->binary
		? binary_frames(b->binary, file_address - 1, frames, &offset, &reason)
		: 0;
	struct symbol *symbol = symbol_new(s, frames, count);
	if (!symbol)
		return NULL;
	bool known = count && frames[count - 1].function;
	symbol->module = b->path;
	symbol->offset = known ? offset + 1 : file_address;
	symbol->reason = known ? NULL : reason ? reason : "only the line is known";
	return symbol;
}

static const struct symbol *of_jit(struct symbols *s, uint64_t address, const struct jit_code *code)
{
	struct symbol_frame frame = {0};
	if (code) {
		frame.function = code->name;
		jit_line(s->jit, code, address - 1, &frame);
	}
	struct symbol *symbol = symbol_new(s, &frame, 1);
	if (!symbol)
		return NULL;
	symbol->module = code ? code->map : NULL;
	symbol->offset = code ? address - code->begin : address;
	symbol->reason = code ? NULL : "not in any module";
	return symbol;
}

static const struct jit_code *code_at(
	struct symbols *s, const struct process *p, uint64_t address, uint64_t ns)
{
	if (!s->jit)
		s->jit = jit_maps_new(s->contents, s->symbol_path, &s->pool);
	return s->jit ? jit_find(s->jit, p, address - 1, ns) : NULL;
}

/* Return the stored row of the address in that module, the last in the file; resolved rows
 * first. */
static const struct stored_symbol *stored_of(
	struct symbols *s, struct process *p, uint64_t address, const struct module *module)
{
	const char *path = module ? string_text(s, module->path) : NULL;
	const struct stored_symbol *row = NULL, *unresolved = NULL;
	while ((row = stored_symbols_find(&p->symbols, address, row))) {
		bool same = !module || row->module == module->path ||
			string_text(s, row->module) == path;
		if (same && !row->reason)
			return row;
		if (same && !unresolved)
			unresolved = row;
	}
	return unresolved;
}

static const struct symbol *of_stored(
	struct symbols *s, const struct process *p, const struct stored_symbol *row)
{
	struct symbol_frame frames[BINARY_FRAMES_MAX];
	uint32_t count =
		row->frame_count < BINARY_FRAMES_MAX ? row->frame_count : BINARY_FRAMES_MAX;
	const struct stored_frame *stored = &p->symbols.frames[row->first_frame];
	for (uint32_t i = 0; i < count; i++) {
		frames[i] = (struct symbol_frame){.line = stored[i].line};
		frames[i].function = stored[i].function ? string_text(s, stored[i].function) : NULL;
		frames[i].file = stored[i].file ? string_text(s, stored[i].file) : NULL;
	}
	struct symbol *symbol = symbol_new(s, frames, count);
	if (!symbol)
		return NULL;
	symbol->module = row->module ? string_text(s, row->module) : NULL;
	symbol->reason = row->reason ? string_text(s, row->reason) : NULL;
	symbol->offset = row->offset;
	return symbol;
}

static const struct symbol *of_place(
	struct symbols *s, uint64_t address, const struct module *module)
{
	struct symbol *symbol = symbol_new(s, NULL, 0);
	if (!symbol)
		return NULL;
	symbol->module = module ? string_text(s, module->path) : NULL;
	symbol->offset = module ? address - module->bias : address;
	symbol->reason = "not looked for";
	return symbol;
}

/* Return the symbol of an address that stands for frames left out (callchains.h). */
static const struct symbol *of_folded(struct symbols *s, uint64_t address)
{
	const struct symbol_frame frame = {
		.function = address == CALLCHAIN_NO_PYTHON ? "[native code]" : "[Python]"};
	struct symbol *symbol = symbol_new(s, &frame, 1);
	if (!symbol)
		return NULL;
	symbol->is_python = true;
	symbol->module = frame.function;
	return symbol;
}

/* Return the symbol of a Python frame: "function (file.py:line)", or "await function
 * (file.py:line)" if the frame is suspended. */
static const struct symbol *of_python(struct symbols *s, const struct process *p, uint64_t address)
{
	const struct python_row *row = python_codes_find(&p->python, address);
	struct symbol_frame frame = {0};
	uint32_t instruction = PYTHON_INSTRUCTION_OF(address);
	if ((address & CALLCHAIN_FOLDED) == CALLCHAIN_FOLDED)
		return of_folded(s, address);
	if (row) {
		struct string_ref table = string_table_get(&s->contents->strings, row->table);
		const char *name = string_text(s, row->name);
		frame.file = string_text(s, row->file);
		frame.line = python_line((const uint8_t *)table.text, table.bytes, row->lines,
			row->first_line, instruction);
		if (!name || !frame.file)
			return NULL;
		const char *slash = strrchr(frame.file, '/');
		char *text;
		int bytes = asprintf(&text, frame.line ? "%s%s (%s:%u)" : "%s%s (%s)",
			address & PYTHON_AWAITS ? "await " : "", name,
			slash ? slash + 1 : frame.file, frame.line);
		if (bytes < 0)
			return NULL;
		frame.function = pool_text(&s->pool, text, (size_t)bytes);
		free(text);
	}
	struct symbol *symbol = symbol_new(s, &frame, 1);
	if (!symbol || (row && !frame.function))
		return NULL;
	symbol->is_python = true;
	symbol->module = row ? frame.file : "[Python]";
	symbol->offset = instruction;
	symbol->reason = row ? NULL : "the code object is not in the report";
	return symbol;
}

static const struct symbol *answer(struct symbols *s, struct process *p, uint64_t address,
	const struct module *module, const struct jit_code *code, bool with_stored)
{
	if (s->no_names)
		return of_place(s, address, module);
	const struct stored_symbol *row = with_stored ? stored_of(s, p, address, module) : NULL;
	if (row && !row->reason)
		return of_stored(s, p, row);
	const struct symbol *fresh =
		module ? of_module(s, address, module) : of_jit(s, address, code);
	return fresh && fresh->reason && row ? of_stored(s, p, row) : fresh;
}

static void narrow(struct time_span *span, uint64_t from_ns, uint64_t until_ns)
{
	if (from_ns > span->from_ns)
		span->from_ns = from_ns;
	if (until_ns < span->until_ns)
		span->until_ns = until_ns;
}

static const struct symbol *find(struct symbols *s, struct process *p, uint64_t address,
	const struct module *module, uint64_t ns, bool with_stored, struct time_span *span)
{
	const bool has_code = !module && !s->no_names && !(address & ADDRESS_PYTHON);
	const struct jit_code *code = has_code ? code_at(s, p, address, ns) : NULL;
	/* modules and codes belong to one process, so their addresses are unique keys */
	uint64_t where = module ? (uintptr_t)module : code ? (uintptr_t)code : (uintptr_t)p;
	if (code && code->from_ns)
		narrow(span, ns, ns + 1);
	uint32_t known = map_get(&s->places, address, where);
	if (known)
		return s->answers[known - 1];
	const struct symbol *symbol = address & ADDRESS_PYTHON
		? of_python(s, p, address)
		: answer(s, p, address, module, code, with_stored);
	if (!symbol || array_room(&s->answers, s->count, &s->capacity, sizeof(*s->answers)) ||
		map_put(&s->places, address, where, s->count + 1))
		return NULL;
	return s->answers[s->count++] = symbol;
}

const struct symbol *symbols_find(struct symbols *s, const struct process *process,
	uint64_t address, uint64_t ns, struct time_span *span)
{
	struct time_span unused = {0, UINT64_MAX};
	struct process *p = process->memory;
	const struct module *module = module_map_find(&p->modules, address - 1, ns);
	span = span ? span : &unused;
	if (address & ADDRESS_PYTHON)
		return find(s, p, address, NULL, ns, true, span);
	if (module_map_is_reused(&p->modules)) {
		bool holds = module && module->from_ns <= ns && ns < module->until_ns;
		narrow(span, holds ? module->from_ns : ns, holds ? module->until_ns : ns + 1);
	}
	return find(s, p, address, module, ns, true, span);
}

const struct symbol *symbols_resolve(struct symbols *s, const struct process *process,
	uint64_t address, const struct module *module, uint64_t ns)
{
	struct time_span unused = {0, UINT64_MAX};
	struct process *p = process_find(&s->contents->processes, process->id);
	return find(s, p, address, module, ns, false, &unused);
}

void symbols_stored(struct symbols *s, struct process *p, uint64_t address,
	const struct module *module, bool *ret_stored, bool *ret_resolved)
{
	const struct stored_symbol *row = stored_of(s, p, address, module);
	*ret_stored = row != NULL;
	*ret_resolved = row && !row->reason;
}

static bool is_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static int compare_unresolved(const void *a, const void *b)
{
	const struct unresolved *x = a, *y = b;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	int modules = strcmp(x->module ? x->module : "", y->module ? y->module : "");
	return modules ? modules : strcmp(x->reason, y->reason);
}

uint32_t symbols_unresolved(const struct symbols *s, struct unresolved *ret_rows, uint32_t room)
{
	uint32_t rows = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct symbol *symbol = s->answers[i];
		uint32_t at = 0;
		if (!symbol->reason)
			continue;
		while (at < rows &&
			!(is_text(ret_rows[at].module, symbol->module) &&
				is_text(ret_rows[at].reason, symbol->reason)))
			at++;
		if (at == room)
			continue;
		if (at == rows)
			ret_rows[rows++] = (struct unresolved){symbol->module, symbol->reason, 0};
		ret_rows[at].count++;
	}
	qsort(ret_rows, rows, sizeof(*ret_rows), compare_unresolved);
	return rows;
}

/* ---- places ---- */

/* Return the length of a function's name without what GCC adds to the part of it that a construct
 * of OpenMP became: "solve._omp_fn.0". */
static int name_length(const char *function)
{
	const char *added = strstr(function, "._omp_fn.");
	size_t length = added ? (size_t)(added - function) : strlen(function);
	return length < PLACE_BYTES ? (int)length : (int)PLACE_BYTES;
}

void symbols_place(struct symbols *s, const struct process *p, uint64_t address, uint64_t ns,
	char ret_text[PLACE_BYTES])
{
	const struct symbol *symbol = s ? symbols_find(s, p, address, ns, NULL) : NULL;
	const struct symbol_frame *f = symbol ? &symbol->frames[0] : NULL;
	if (!symbol || (!f->function && !symbol->module))
		snprintf(ret_text, PLACE_BYTES, "0x%llx", (unsigned long long)address);
	else if (!f->function)
		snprintf(ret_text, PLACE_BYTES, "%s+0x%llx", text_base_name(symbol->module),
			(unsigned long long)symbol->offset);
	else if (f->file && f->line)
		snprintf(ret_text, PLACE_BYTES, "%.*s (%s:%u)", name_length(f->function),
			f->function, text_base_name(f->file), f->line);
	else
		snprintf(ret_text, PLACE_BYTES, "%.*s", name_length(f->function), f->function);
}

bool symbols_variable(struct symbols *s, const struct process *p, uint64_t address, uint64_t ns,
	char ret_text[PLACE_BYTES])
{
	const struct module *module = module_map_find(&p->memory->modules, address, ns);
	const struct opened_binary *b = module && !s->no_names ? binary_of(s, module) : NULL;
	const char *path = module ? string_text(s, module->path) : NULL, *name = NULL;
	uint64_t offset = 0;
	if (!path)
		return false;
	if (b && b->binary)
		name = binary_variable(b->binary, address - module->bias, &offset);
	if (!name)
		snprintf(ret_text, PLACE_BYTES, "%s+0x%llx", text_base_name(path),
			(unsigned long long)(address - module->bias));
	else if (offset)
		snprintf(ret_text, PLACE_BYTES, "%.*s+0x%llx", name_length(name), name,
			(unsigned long long)offset);
	else
		snprintf(ret_text, PLACE_BYTES, "%.*s", name_length(name), name);
	return true;
}
