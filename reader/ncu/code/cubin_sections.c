/* SPDX-License-Identifier: Apache-2.0 */
/* cubin_sections.c - the sections of a cubin. */
#include "reader/ncu/code/cubin_sections.h"

#include <elf.h>
#include <string.h>

bool cubin_copy_at(const struct cubin *c, uint64_t offset, void *to, size_t bytes)
{
	if (offset > c->bytes || bytes > c->bytes - offset)
		return false;
	memcpy(to, c->data + offset, bytes);
	return true;
}

const char *cubin_text_at(const uint8_t *begin, const uint8_t *end, uint64_t offset)
{
	if (offset >= (uint64_t)(end - begin) ||
		!memchr(begin + offset, 0, (size_t)((uint64_t)(end - begin) - offset)))
		return "";
	return (const char *)begin + offset;
}

static bool section_header(const struct cubin *c, uint32_t index, Elf64_Shdr *ret_header)
{
	Elf64_Ehdr h;
	if (!cubin_copy_at(c, 0, &h, sizeof(h)) || index >= h.e_shnum ||
		h.e_shentsize != sizeof(*ret_header) || h.e_shoff > c->bytes)
		return false;
	return cubin_copy_at(c, h.e_shoff + (uint64_t)index * sizeof(*ret_header), ret_header,
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

bool cubin_section_at(const struct cubin *c, uint32_t index, struct cubin_section *s)
{
	Elf64_Ehdr elf;
	Elf64_Shdr h, names;
	const uint8_t *begin, *end;
	if (!cubin_copy_at(c, 0, &elf, sizeof(elf)) || !section_header(c, index, &h) ||
		!section_data(c, &h, &s->data, &s->end))
		return false;
	s->name = section_header(c, elf.e_shstrndx, &names) && section_data(c, &names, &begin, &end)
		? cubin_text_at(begin, end, h.sh_name)
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
	if (!cubin_copy_at(c, 0, &elf, sizeof(elf)))
		return false;
	for (uint32_t i = 0; i < elf.e_shnum; i++)
		if (cubin_section_at(c, i, s) && !strcmp(s->name, name))
			return true;
	return false;
}
