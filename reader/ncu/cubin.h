/*
 * cubin.h - the code of a module: its functions, and the source lines of their instructions.
 *
 * A cubin is an ELF file of 64 bits; each function has a section .text.NAME, -lineinfo adds
 * .debug_line (DWARF 2 to 4) with relocations that say which function an address is of. Where the
 * PTX was kept, .nv_debug_line_sass has its lines in the same way, and .nv_debug_ptx_txt its texts.
 * Files are hostile: what lies outside of the bytes is not there. One thread; allocates.
 */
#ifndef READER_NCU_CUBIN_H
#define READER_NCU_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUBIN_LINES_MAX 4000000u
#define CUBIN_FUNCTIONS_MAX 65536u

struct cubin_function {
	const char *name, *section; /* of the symbol; ".text.NAME" */
	uint32_t symbol;            /* index in .symtab */
	uint64_t offset, bytes;     /* in its section */
};

/* From `offset` of the function on, up to the next one of it. */
struct cubin_line {
	uint32_t symbol, file, line; /* file: an index; line 0: none */
	uint64_t offset;
	uint32_t order; /* of several at one place the last holds; of the PTX the first is last here
			 */
};

struct cubin_lines {
	struct cubin_line *list; /* by function and offset */
	size_t count;
	uint32_t capacity;
};

struct cubin {
	const uint8_t *data; /* the caller's, as long as the cubin is used */
	size_t bytes;
	struct cubin_function *functions;
	size_t function_count;
	char **files;
	size_t file_count;
	struct cubin_lines lines, ptx_lines; /* of source files; of the PTX, which has no file */
	const char **ptx;                    /* the lines of the PTX */
	size_t ptx_count;
};

/* 0; -EBADMSG: no cubin; -ENOMEM. Lines that make no sense are left out. Release it in any case. */
int cubin_read(struct cubin *c, const uint8_t *data, size_t bytes);
void cubin_release(struct cubin *c);

/* The line of an instruction; NULL: it is not known. */
const struct cubin_line *cubin_line_at(
	const struct cubin *c, const struct cubin_function *f, uint64_t offset);

/* The line of PTX that it was made of; NULL: it is not known. */
const char *cubin_ptx_at(const struct cubin *c, const struct cubin_function *f, uint64_t offset);

/* ---- for cubin.c and cubin_lines.c ---- */

struct cubin_section {
	const char *name;
	const uint8_t *data, *end;
	uint32_t type, link, info;
	uint64_t entry_bytes;
};

/* The first section of that name; false: there is none, or it reaches past the end. */
bool cubin_section_named(
	const struct cubin *c, const char *name, struct cubin_section *ret_section);

/* Reads .debug_line, .nv_debug_line_sass and .nv_debug_ptx_txt. 0 or -ENOMEM. */
int cubin_lines_read(struct cubin *c);

#endif
