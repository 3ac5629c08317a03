/* SPDX-License-Identifier: Apache-2.0 */
/* cubin.c - functions of a cubin, and the lines of their instructions. */
#include "reader/ncu/code/cubin.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/ncu/code/cubin_lines.h"
#include "reader/ncu/code/cubin_sections.h"

#define STO_CUDA_ENTRY 0x10 /* flag of st_other: a kernel */

static int functions_read(struct cubin *c)
{
	struct cubin_section symbols, names, code;
	if (!cubin_section_named(c, ".symtab", &symbols) ||
		!cubin_section_at(c, symbols.link, &names))
		return 0;
	const size_t count = (size_t)(symbols.end - symbols.data) / sizeof(Elf64_Sym);
	c->functions = calloc(count < CUBIN_FUNCTIONS_MAX ? count + 1 : CUBIN_FUNCTIONS_MAX,
		sizeof(*c->functions));
	if (!c->functions)
		return -ENOMEM;
	for (size_t i = 0; i < count && c->function_count < CUBIN_FUNCTIONS_MAX; i++) {
		Elf64_Sym symbol;
		memcpy(&symbol, symbols.data + i * sizeof(symbol), sizeof(symbol));
		if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
			!cubin_section_at(c, symbol.st_shndx, &code))
			continue;
		const bool is_absolute = symbol.st_value > (uint64_t)(code.end - code.data);
		c->functions[c->function_count++] = (struct cubin_function){
			.name = cubin_text_at(names.data, names.end, symbol.st_name),
			.section = code.name,
			.symbol = (uint32_t)i,
			.offset = is_absolute ? 0 : symbol.st_value,
			.bytes = symbol.st_size,
			.address = is_absolute ? symbol.st_value : 0,
			.is_kernel = symbol.st_other & STO_CUDA_ENTRY,
			.is_local = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL};
	}
	return 0;
}

int cubin_read(struct cubin *c, const uint8_t *data, size_t bytes)
{
	Elf64_Ehdr h;
	*c = (struct cubin){.data = data, .bytes = bytes};
	if (!cubin_copy_at(c, 0, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
		h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
		h.e_machine != EM_CUDA)
		return -EBADMSG;
	int error = functions_read(c);
	return error ? error : cubin_lines_read(c);
}

static void sections_hide(const struct cubin *c, uint8_t *copy)
{
	struct cubin_section s;
	Elf64_Ehdr h;
	if (!cubin_copy_at(c, 0, &h, sizeof(h)))
		return;
	for (uint32_t i = 0; i < h.e_shnum; i++)
		if (cubin_section_at(c, i, &s) && strstr(s.name, ".debug_"))
			memset(copy + h.e_shoff + i * sizeof(Elf64_Shdr) +
					offsetof(Elf64_Shdr, sh_type),
				0, sizeof(Elf64_Word));
}

int cubin_unplace(const struct cubin *c, uint8_t **ret_copy)
{
	struct cubin_section symbols;
	bool is_placed = false;
	*ret_copy = NULL;
	for (size_t i = 0; i < c->function_count; i++)
		is_placed |= c->functions[i].address != 0;
	if (!is_placed || !cubin_section_named(c, ".symtab", &symbols))
		return 0;
	uint8_t *copy = malloc(c->bytes);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, c->data, c->bytes);
	sections_hide(c, copy);
	for (size_t i = 0; i < c->function_count; i++)
		if (c->functions[i].address)
			memset(copy + (symbols.data - c->data) +
					c->functions[i].symbol * sizeof(Elf64_Sym) +
					offsetof(Elf64_Sym, st_value),
				0, sizeof(Elf64_Addr));
	*ret_copy = copy;
	return 0;
}

void cubin_release(struct cubin *c)
{
	for (size_t i = 0; i < c->file_count; i++)
		free(c->files[i]);
	free(c->files);
	free(c->functions);
	free(c->lines.list);
	free(c->ptx_lines.list);
	free(c->ptx);
	*c = (struct cubin){0};
}

/* Return the line of an offset; of several rows at one offset, the last in the list. NULL =
 * unknown. */
static const struct cubin_line *line_at(
	const struct cubin_lines *lines, uint32_t symbol, uint64_t offset)
{
	size_t low = 0, high = lines->count;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct cubin_line *l = &lines->list[middle];
		if (l->symbol < symbol || (l->symbol == symbol && l->offset <= offset))
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || lines->list[low - 1].symbol != symbol || !lines->list[low - 1].line)
		return NULL;
	return &lines->list[low - 1];
}

const struct cubin_line *cubin_line_at(
	const struct cubin *c, const struct cubin_function *f, uint64_t offset)
{
	return line_at(&c->lines, f->symbol, offset);
}

const char *cubin_ptx_at(const struct cubin *c, const struct cubin_function *f, uint64_t offset)
{
	const struct cubin_line *l = line_at(&c->ptx_lines, f->symbol, offset);
	return l && l->line <= c->ptx_count ? c->ptx[l->line - 1] : NULL;
}
