#include "reader/ncu/cubin.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A copy of what lies at `offset`, since nothing says that it is aligned. */
static bool copy_at(const struct cubin *c, uint64_t offset, void *to, size_t bytes)
{
	if (offset > c->bytes || bytes > c->bytes - offset)
		return false;
	memcpy(to, c->data + offset, bytes);
	return true;
}

/* A text of a table of texts; "" where it has no end there. */
static const char *text_at(const uint8_t *begin, const uint8_t *end, uint64_t offset)
{
	if (offset >= (uint64_t)(end - begin) ||
		!memchr(begin + offset, 0, (size_t)((uint64_t)(end - begin) - offset)))
		return "";
	return (const char *)begin + offset;
}

static bool section_header(const struct cubin *c, uint32_t index, Elf64_Shdr *ret_header)
{
	Elf64_Ehdr h;
	if (!copy_at(c, 0, &h, sizeof(h)) || index >= h.e_shnum ||
		h.e_shentsize != sizeof(*ret_header) || h.e_shoff > c->bytes)
		return false;
	return copy_at(c, h.e_shoff + (uint64_t)index * sizeof(*ret_header), ret_header,
		sizeof(*ret_header));
}

static bool section_data(const struct cubin *c, const Elf64_Shdr *h, const uint8_t **ret_begin,
	const uint8_t **ret_end)
{
	if (h->sh_type == SHT_NOBITS || h->sh_offset > c->bytes ||
		h->sh_size > c->bytes - h->sh_offset)
		return false;
	*ret_begin = c->data + h->sh_offset;
	*ret_end = *ret_begin + h->sh_size;
	return true;
}

static bool section_at(const struct cubin *c, uint32_t index, struct cubin_section *s)
{
	Elf64_Ehdr elf;
	Elf64_Shdr h, names;
	const uint8_t *begin, *end;
	if (!copy_at(c, 0, &elf, sizeof(elf)) || !section_header(c, index, &h) ||
		!section_data(c, &h, &s->data, &s->end))
		return false;
	s->name = section_header(c, elf.e_shstrndx, &names) && section_data(c, &names, &begin, &end)
		? text_at(begin, end, h.sh_name)
		: "";
	s->type = h.sh_type;
	s->link = h.sh_link;
	s->info = h.sh_info;
	s->entry_bytes = h.sh_entsize;
	return true;
}

bool cubin_section_named(const struct cubin *c, const char *name, struct cubin_section *s)
{
	Elf64_Ehdr elf;
	if (!copy_at(c, 0, &elf, sizeof(elf)))
		return false;
	for (uint32_t i = 0; i < elf.e_shnum; i++)
		if (section_at(c, i, s) && !strcmp(s->name, name))
			return true;
	return false;
}

static int functions_read(struct cubin *c)
{
	struct cubin_section symbols, names, code;
	if (!cubin_section_named(c, ".symtab", &symbols) || !section_at(c, symbols.link, &names))
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
			!section_at(c, symbol.st_shndx, &code))
			continue;
		c->functions[c->function_count++] = (struct cubin_function){
			.name = text_at(names.data, names.end, symbol.st_name),
			.section = code.name,
			.symbol = (uint32_t)i,
			.offset = symbol.st_value,
			.bytes = symbol.st_size};
	}
	return 0;
}

int cubin_read(struct cubin *c, const uint8_t *data, size_t bytes)
{
	Elf64_Ehdr h;
	*c = (struct cubin){.data = data, .bytes = bytes};
	if (!copy_at(c, 0, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
		h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
		h.e_machine != EM_CUDA)
		return -EBADMSG;
	int error = functions_read(c);
	return error ? error : cubin_lines_read(c);
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

/* Of several lines at one place the last; NULL: it is not known. */
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
