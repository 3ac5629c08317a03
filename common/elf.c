/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf.c - what the dynamic section of a program says about it.
 */
#define _GNU_SOURCE
#include "common/elf.h"

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "common/sys.h"
#include "common/text.h"

#define SEGMENTS 16u /* programs have about 13 */
#define ENTRIES 32u  /* entries of the dynamic section read at a time */
#define PIECE 1024u  /* bytes of the string table read at a time */
#define STRINGS_MAX (UINT64_C(64) << 20)

static const char wanted[] = "__asan_default_options";

struct image {
	int fd;
	uint32_t count;
	Elf64_Phdr segment[SEGMENTS];
};

struct strings {
	uint64_t offset, bytes; /* the dynamic string table in the file */
	uint64_t first_needed;  /* name of the first library, within the table */
	uint64_t own_name;      /* of a library, within the table */
	bool needs, is_named;
};

static bool image_read(struct image *image)
{
	Elf64_Ehdr elf;
	if (sys_pread(image->fd, &elf, sizeof(elf), 0) != sizeof(elf) ||
		elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	image->count = elf.e_phnum < SEGMENTS ? elf.e_phnum : SEGMENTS;
	size_t bytes = image->count * sizeof(Elf64_Phdr);
	return sys_pread(image->fd, image->segment, bytes, elf.e_phoff) == (long)bytes;
}

/* Return the file offset of the byte that is loaded at `address`; 0 = none. */
static uint64_t file_offset(const struct image *image, uint64_t address)
{
	for (uint32_t i = 0; i < image->count; i++) {
		const Elf64_Phdr *s = &image->segment[i];
		if (s->p_type == PT_LOAD && address - s->p_vaddr < s->p_filesz)
			return address - s->p_vaddr + s->p_offset;
	}
	return 0;
}

/* Take one entry of the dynamic section. Return false at the last entry. */
static bool entry_take(const struct image *image, const Elf64_Dyn *entry, struct strings *strings)
{
	if (entry->d_tag == DT_NEEDED && !strings->needs) {
		strings->needs = true;
		strings->first_needed = entry->d_un.d_val;
	}
	if (entry->d_tag == DT_SONAME) {
		strings->is_named = true;
		strings->own_name = entry->d_un.d_val;
	}
	if (entry->d_tag == DT_STRTAB)
		strings->offset = file_offset(image, entry->d_un.d_ptr);
	if (entry->d_tag == DT_STRSZ)
		strings->bytes = entry->d_un.d_val;
	return entry->d_tag != DT_NULL;
}

static void dynamic_read(
	const struct image *image, const Elf64_Phdr *dynamic, struct strings *strings)
{
	Elf64_Dyn entries[ENTRIES];
	for (uint64_t at = 0; at + sizeof(entries[0]) <= dynamic->p_filesz; at += sizeof(entries)) {
		long got = sys_pread(image->fd, entries, sizeof(entries), dynamic->p_offset + at);
		if (got < (long)sizeof(entries[0]))
			return;
		for (size_t i = 0; i < (size_t)got / sizeof(entries[0]); i++)
			if (!entry_take(image, &entries[i], strings))
				return;
	}
}

static bool strings_read(struct image *image, struct strings *ret_strings)
{
	*ret_strings = (struct strings){0};
	if (!image_read(image))
		return false;
	for (uint32_t i = 0; i < image->count; i++)
		if (image->segment[i].p_type == PT_DYNAMIC)
			dynamic_read(image, &image->segment[i], ret_strings);
	return ret_strings->offset != 0;
}

#define NAME_BYTES 32u

/* Read the beginning of the text at that place in the string table. */
static void name_read(const struct image *image, const struct strings *strings, uint64_t at,
	char ret_name[NAME_BYTES])
{
	long got = sys_pread(image->fd, ret_name, NAME_BYTES - 1, strings->offset + at);
	ret_name[got > 0 ? got : 0] = 0;
}

/* Return true if the first library is the runtime, which insists on being first. */
static bool begins_with_asan(const struct image *image, const struct strings *strings)
{
	char name[NAME_BYTES];
	if (!strings->needs)
		return false;
	name_read(image, strings, strings->first_needed, name);
	return text_begins(name, "libasan.so") || text_begins(name, "libclang_rt.asan");
}

static bool piece_has_wanted(const char *piece, size_t bytes)
{
	for (size_t i = 0; i + sizeof(wanted) <= bytes; i++)
		if (text_begins(piece + i, wanted) && !piece[i + sizeof(wanted) - 1])
			return true;
	return false;
}

static bool strings_have_wanted(const struct image *image, const struct strings *strings)
{
	char piece[PIECE + 1];
	uint64_t bytes = strings->bytes < STRINGS_MAX ? strings->bytes : STRINGS_MAX;
	for (uint64_t at = 0; at < bytes; at += PIECE - sizeof(wanted)) {
		long got = sys_pread(image->fd, piece, PIECE, strings->offset + at);
		if (got <= 0)
			return false;
		piece[got] = 0;
		if (piece_has_wanted(piece, (size_t)got))
			return true;
	}
	return false;
}

bool elf_has_asan_options(int fd)
{
	struct image image = {.fd = fd};
	struct strings strings;
	return strings_read(&image, &strings) && begins_with_asan(&image, &strings) &&
		strings_have_wanted(&image, &strings);
}

bool elf_is_loader(int fd)
{
	struct image image = {.fd = fd};
	struct strings strings;
	char name[NAME_BYTES];
	if (!strings_read(&image, &strings) || !strings.is_named)
		return false;
	name_read(&image, &strings, strings.own_name, name);
	return text_begins(name, "ld-linux") || text_begins(name, "ld64.so");
}

bool elf_asan_decided(const char *asan_options)
{
	return asan_options && text_find(asan_options, "verify_asan_link_order");
}
