/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cubin.h - the code of a module: its functions, and the source lines of their instructions.
 *
 * A cubin is a 64-bit ELF file; each function has a section .text.NAME. -lineinfo adds .debug_line
 * (DWARF 2 to 4) with relocations that name the function of an address. If the PTX was kept,
 * .nv_debug_line_sass maps to its lines in the same way, and .nv_debug_ptx_txt holds its text.
 * In reports up to 2022.1 symbols and line tables have the addresses of the process instead.
 * Files are untrusted: nothing is read outside of the given bytes. One thread; allocates.
 */
#ifndef READER_NCU_CODE_CUBIN_H
#define READER_NCU_CODE_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUBIN_LINES_MAX 4000000u
#define CUBIN_FUNCTIONS_MAX 65536u

struct cubin_function {
	const char *name, *section; /* name of the symbol; ".text.NAME" */
	uint32_t symbol;            /* index in .symtab */
	uint64_t offset, bytes;     /* position in its section */
	uint64_t address;           /* address in the process; 0 = the symbol has none */
	bool is_kernel, is_local;   /* an entry point; a helper function of the compiler */
};

/* The source line from `offset` of a function up to the next entry of the same function. */
struct cubin_line {
	uint32_t symbol, file, line; /* file: an index; line: 0 = none */
	uint64_t offset;
	uint32_t order; /* of several at one offset, the greatest applies: the first row of the line
			   program; 0 = the end of a sequence */
};

struct cubin_lines {
	struct cubin_line *list; /* sorted by function and offset */
	size_t count;
	uint32_t capacity;
};

struct cubin {
	const uint8_t *data; /* owned by the caller; must outlive the cubin */
	size_t bytes;
	struct cubin_function *functions;
	size_t function_count;
	char **files;
	size_t file_count;
	struct cubin_lines lines, ptx_lines; /* ptx_lines: lines of the PTX, without files */
	const char **ptx;                    /* the text of the PTX, by line */
	size_t ptx_count;
};

/* Read functions and lines. Returns 0, -EBADMSG if it is not a cubin, or -ENOMEM. Malformed lines
 * are skipped. Release it even after an error. */
int cubin_read(struct cubin *c, const uint8_t *data, size_t bytes);
void cubin_release(struct cubin *c);

/* Copy the cubin as the linker wrote it, for programs that do not read cubins whose symbols have
 * addresses of the process: function symbols are offsets again, and sections for debuggers, which
 * also have addresses, are hidden. *ret_copy: the caller frees it; NULL = no symbol has an address.
 * Returns 0 or -ENOMEM. */
int cubin_unplace(const struct cubin *c, uint8_t **ret_copy);

/* Return the source line of an instruction; NULL = not known. */
const struct cubin_line *cubin_line_at(
	const struct cubin *c, const struct cubin_function *f, uint64_t offset);

/* Return the line of PTX that an instruction was compiled from; NULL = not known. */
const char *cubin_ptx_at(const struct cubin *c, const struct cubin_function *f, uint64_t offset);

#endif
