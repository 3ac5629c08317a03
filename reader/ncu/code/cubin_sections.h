/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cubin_sections.h - bounds-checked access to the ELF sections of a cubin, for cubin.c and
 * cubin_lines.c. No allocation; any thread.
 */
#ifndef READER_NCU_CODE_CUBIN_SECTIONS_H
#define READER_NCU_CODE_CUBIN_SECTIONS_H

#include "reader/ncu/code/cubin.h"

/* A section; its memory is that of the cubin. */
struct cubin_section {
	const char *name; /* "" = unknown */
	const uint8_t *data, *end;
	uint32_t type, link, info;
	uint64_t entry_bytes;
};

/* Copy `bytes` at `offset` of the file, which need not be aligned. Returns false if the file is
 * too short. */
bool cubin_copy_at(const struct cubin *c, uint64_t offset, void *to, size_t bytes);

/* Return the text at `offset` of a string table; "" if it has no terminator there. */
const char *cubin_text_at(const uint8_t *begin, const uint8_t *end, uint64_t offset);

/* Find a section by index. Returns false if there is none or it extends beyond the file. */
bool cubin_section_at(const struct cubin *c, uint32_t index, struct cubin_section *s);

/* Find the first section with this name. Returns false if there is none or it extends beyond the
 * file. */
bool cubin_section_named(const struct cubin *c, const char *name, struct cubin_section *s);

#endif
