/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cubin_lines.c - the line tables of a cubin: .debug_line, DWARF 2 to 4, and the PTX.
 *
 * Source: DWARF 2.0, section 6.2. NVIDIA's extended opcodes (inlined calls) are skipped by their
 * size.
 */
#define _GNU_SOURCE
#include "reader/ncu/code/cubin_lines.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/varint.h"
#include "reader/ncu/code/cubin_sections.h"

#define FILES_MAX 65536u
#define RELOCATIONS_LOOKED_AT 200000000u /* bounds the time spent on a hostile file */

enum { LINE_EXTENDED = 0, LINE_COPY, LINE_ADVANCE_PC, LINE_ADVANCE_LINE, LINE_SET_FILE };
enum { LINE_CONST_ADD_PC = 8, LINE_FIXED_ADVANCE_PC = 9 };
enum { LINE_END_SEQUENCE = 1, LINE_SET_ADDRESS = 2 };

struct program {
	struct cubin *cubin;
	struct cubin_lines *lines; /* the table to fill */
	bool has_files;            /* false for the PTX, which is one text */
	struct cubin_section section, relocations;
	bool has_relocations, has_addends;
	const uint8_t *at, *end; /* unread bytes of the unit */
	uint32_t least_bytes, range, opcodes;
	int line_base;
	const uint8_t *operands; /* number of operands by opcode, from 1 */
	size_t first_file;       /* index of this unit's first file in the cubin's list */
	/* state of the line program; symbol: 0 = no address set */
	uint32_t symbol, file, line;
	uint64_t offset;
	uint32_t looked_at;
	bool broken;
	int error;
};

/* ---- numbers; a truncated one breaks the program ---- */

static uint64_t fixed(struct program *p, size_t bytes)
{
	uint64_t value = 0;
	if ((size_t)(p->end - p->at) < bytes) {
		p->broken = true;
		p->at = p->end;
		return 0;
	}
	memcpy(&value, p->at, bytes);
	p->at += bytes;
	return value;
}

static uint64_t leb(struct program *p)
{
	uint64_t value = 0;
	const uint8_t *next = varint_get(p->at, p->end, &value);
	p->broken |= !next;
	p->at = next ? next : p->end;
	return value;
}

static int64_t signed_leb(struct program *p)
{
	const uint8_t *begin = p->at;
	uint64_t value = leb(p);
	const size_t bits = 7 * (size_t)(p->at - begin);
	if (!p->broken && bits < 64 && (p->at[-1] & 0x40))
		value |= ~0ull << bits;
	return (int64_t)value;
}

static const char *text(struct program *p)
{
	const char *begin = (const char *)p->at;
	const uint8_t *zero = memchr(p->at, 0, (size_t)(p->end - p->at));
	p->broken |= !zero;
	p->at = zero ? zero + 1 : p->end;
	return zero ? begin : "";
}

/* ---- the header of a unit ---- */

/* Return the start of the last component of a path; its components are from `begin` to `end`. */
static size_t component_last(const char *path, size_t begin, size_t end)
{
	while (end > begin && path[end - 1] != '/')
		end--;
	return end;
}

static bool is_parent(const char *component, size_t bytes)
{
	return bytes == 2 && component[0] == '.' && component[1] == '.';
}

void cubin_path_normalize(char *path)
{
	const size_t begin = *path == '/' || *path == '\\';
	const char *from = path + begin;
	size_t end = begin;
	if (begin)
		*path = '/';
	while (*from) {
		const size_t bytes = strcspn(from, "/\\"), last = component_last(path, begin, end);
		const bool is_up = is_parent(from, bytes);
		const bool is_here = !bytes || (bytes == 1 && *from == '.');
		if (is_up && end > begin && !is_parent(path + last, end - last)) {
			end = last > begin ? last - 1 : begin;
		} else if (!is_here && !(is_up && begin)) {
			if (end > begin)
				path[end++] = '/';
			memmove(path + end, from, bytes);
			end += bytes;
		}
		from += bytes + (from[bytes] != 0);
	}
	path[end] = 0;
}

static void file_add(struct program *p, const char *folder, const char *name)
{
	struct cubin *c = p->cubin;
	if (c->file_count == FILES_MAX) {
		p->broken = true;
		return;
	}
	char **all = reallocarray(c->files, c->file_count + 1, sizeof(*all));
	if (all)
		c->files = all;
	if (!all || asprintf(&all[c->file_count], "%s%s%s", folder, *folder ? "/" : "", name) < 0)
		p->error = -ENOMEM;
	else
		cubin_path_normalize(all[c->file_count++]);
}

/* Return a folder by its number, from 1; "" = no folder, or unknown. */
static const char *folder_at(const uint8_t *at, const uint8_t *end, uint64_t number)
{
	for (; at < end && *at; number--) {
		const uint8_t *zero = memchr(at, 0, (size_t)(end - at));
		if (!zero || number == 1)
			return zero ? (const char *)at : "";
		at = zero + 1;
	}
	return "";
}

static void files_read(struct program *p)
{
	const uint8_t *folders = p->at;
	while (!p->broken && p->at < p->end && *p->at)
		text(p);
	fixed(p, 1);
	p->first_file = p->cubin->file_count;
	while (!p->broken && !p->error && p->at < p->end && *p->at) {
		const char *name = text(p);
		const uint64_t folder = leb(p);
		leb(p);
		leb(p);
		file_add(p, *name == '/' ? "" : folder_at(folders, p->end, folder), name);
	}
	fixed(p, 1);
}

/* Read the header of the unit between p->at and p->end; leaves p->at at its program. */
static void header_read(struct program *p)
{
	const uint64_t version = fixed(p, 2), bytes = fixed(p, 4);
	const uint8_t *program = p->at + bytes;
	if (p->broken || version < 2 || version > 4 || bytes > (uint64_t)(p->end - p->at)) {
		p->broken = true;
		return;
	}
	p->least_bytes = (uint32_t)fixed(p, 1);
	if (version == 4)
		fixed(p, 1);
	fixed(p, 1);
	p->line_base = (int)(fixed(p, 1) ^ 0x80) - 0x80; /* sign-extends the byte */
	p->range = (uint32_t)fixed(p, 1);
	p->opcodes = (uint32_t)fixed(p, 1);
	p->operands = p->at;
	p->broken |= !p->range || !p->opcodes || p->opcodes - 1 > (size_t)(p->end - p->at);
	if (p->broken)
		return;
	p->at += p->opcodes - 1;
	files_read(p);
	p->at = program;
}

/* ---- the program ---- */

static void row_add(struct program *p, bool is_end)
{
	struct cubin_lines *lines = p->lines;
	const size_t file = p->has_files ? p->first_file + p->file - 1 : 0;
	if (!p->symbol || lines->count == CUBIN_LINES_MAX)
		return;
	if (array_room(&lines->list, lines->count, &lines->capacity, sizeof(*lines->list))) {
		p->error = -ENOMEM;
		return;
	}
	const bool is_known =
		!is_end && (!p->has_files || (p->file && file < p->cubin->file_count));
	lines->list[lines->count] = (struct cubin_line){.symbol = p->symbol,
		.file = is_known ? (uint32_t)file : 0,
		.line = is_known ? p->line : 0,
		.offset = p->offset,
		.order = is_end ? 0 : UINT32_MAX - (uint32_t)lines->count};
	lines->count++;
}

/* Find the function at an address of the process: set it and the offset in it. */
static void address_of_process_set(struct program *p, uint64_t address)
{
	const struct cubin *c = p->cubin;
	for (size_t i = 0; i < c->function_count; i++) {
		const struct cubin_function *f = &c->functions[i];
		p->looked_at++;
		if (f->address && address - f->address < f->bytes) {
			p->symbol = f->symbol;
			p->offset = address - f->address;
			return;
		}
	}
}

/* Set address and function from the operand at offset `place` of the section. */
static void address_set(struct program *p, uint64_t place, uint64_t value)
{
	const size_t bytes = p->has_addends ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	p->symbol = 0;
	p->offset = value;
	if (value > p->cubin->bytes && p->looked_at < RELOCATIONS_LOOKED_AT) {
		address_of_process_set(p, value);
		return;
	}
	if (!p->has_relocations)
		return;
	for (const uint8_t *at = p->relocations.data;
		(size_t)(p->relocations.end - at) >= bytes && p->looked_at < RELOCATIONS_LOOKED_AT;
		at += bytes) {
		Elf64_Rela r = {0};
		p->looked_at++;
		memcpy(&r, at, bytes);
		if (r.r_offset != place)
			continue;
		p->symbol = (uint32_t)ELF64_R_SYM(r.r_info);
		p->offset = p->has_addends ? (uint64_t)r.r_addend : value;
		return;
	}
}

static void extended(struct program *p)
{
	const uint64_t bytes = leb(p);
	if (p->broken || !bytes || bytes > (uint64_t)(p->end - p->at)) {
		p->broken = true;
		return;
	}
	const uint8_t *next = p->at + bytes;
	const uint64_t opcode = fixed(p, 1);
	if (opcode == LINE_END_SEQUENCE) {
		row_add(p, true);
		p->symbol = 0;
		p->file = p->line = 1;
		p->offset = 0;
	} else if (opcode == LINE_SET_ADDRESS && bytes == 9) {
		const uint64_t place = (uint64_t)(p->at - p->section.data);
		address_set(p, place, fixed(p, 8));
	}
	p->at = next;
}

static void standard(struct program *p, unsigned opcode)
{
	switch (opcode) {
	case LINE_COPY:
		row_add(p, false);
		break;
	case LINE_ADVANCE_PC:
		p->offset += p->least_bytes * leb(p);
		break;
	case LINE_ADVANCE_LINE:
		p->line += (uint32_t)signed_leb(p);
		break;
	case LINE_SET_FILE:
		p->file = (uint32_t)leb(p);
		break;
	case LINE_CONST_ADD_PC:
		p->offset += p->least_bytes * ((255 - p->opcodes) / p->range);
		break;
	case LINE_FIXED_ADVANCE_PC:
		p->offset += fixed(p, 2);
		break;
	default:
		for (unsigned i = 0; i < p->operands[opcode - 1]; i++)
			leb(p);
	}
}

static void program_run(struct program *p)
{
	p->symbol = 0;
	p->file = p->line = 1;
	p->offset = 0;
	while (!p->broken && !p->error && p->at < p->end) {
		const unsigned opcode = (unsigned)fixed(p, 1);
		if (opcode == LINE_EXTENDED) {
			extended(p);
		} else if (opcode < p->opcodes) {
			standard(p, opcode);
		} else {
			p->offset += p->least_bytes * ((opcode - p->opcodes) / p->range);
			p->line +=
				(uint32_t)(p->line_base + (int)((opcode - p->opcodes) % p->range));
			row_add(p, false);
		}
	}
}

static int by_place(const void *a, const void *b)
{
	const struct cubin_line *x = a, *y = b;
	if (x->symbol != y->symbol)
		return x->symbol < y->symbol ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Find the relocations of a section, which are named after it. */
static bool relocations_find(struct program *p, const char *prefix, const char *section)
{
	char name[64];
	snprintf(name, sizeof(name), "%s%s", prefix, section);
	return cubin_section_named(p->cubin, name, &p->relocations);
}

static int section_read(
	struct cubin *c, const char *name, struct cubin_lines *ret_lines, bool has_files)
{
	struct program p = {.cubin = c, .lines = ret_lines, .has_files = has_files};
	if (!cubin_section_named(c, name, &p.section))
		return 0;
	p.has_addends = relocations_find(&p, ".rela", name);
	p.has_relocations = p.has_addends || relocations_find(&p, ".rel", name);
	p.at = p.section.data;
	while (!p.error && p.section.end - p.at >= 4) {
		p.end = p.section.end;
		p.broken = false;
		const uint64_t bytes = fixed(&p, 4);
		if (bytes > (uint64_t)(p.section.end - p.at))
			break;
		const uint8_t *next = p.at + bytes;
		p.end = next;
		header_read(&p);
		if (!p.broken && !p.error)
			program_run(&p);
		p.at = next;
	}
	if (ret_lines->count)
		qsort(ret_lines->list, ret_lines->count, sizeof(*ret_lines->list), by_place);
	return p.error;
}

/* Read the lines of the PTX, each terminated by NUL. */
static int ptx_read(struct cubin *c)
{
	struct cubin_section s;
	size_t count = 0;
	if (!c->ptx_lines.count || !cubin_section_named(c, ".nv_debug_ptx_txt", &s))
		return 0;
	for (const uint8_t *at = s.data;
		count < CUBIN_LINES_MAX && (at = memchr(at, 0, (size_t)(s.end - at))); at++)
		count++;
	c->ptx = reallocarray(NULL, count + 1, sizeof(*c->ptx));
	if (!c->ptx)
		return -ENOMEM;
	const char *at = (const char *)s.data;
	while (c->ptx_count < count) {
		c->ptx[c->ptx_count++] = at;
		at += strlen(at) + 1;
	}
	return 0;
}

int cubin_lines_read(struct cubin *c)
{
	int error = section_read(c, ".debug_line", &c->lines, true);
	if (!error)
		error = section_read(c, ".nv_debug_line_sass", &c->ptx_lines, false);
	return error ? error : ptx_read(c);
}
