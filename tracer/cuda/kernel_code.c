/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_code.c - hashes of the code of a module, and of each of its kernels.
 *
 * A cubin is a 64-bit ELF file. The kernels are the functions of its symbol table with CUDA's flag
 * for entry points. The cubin is not trusted: nothing is read outside of it.
 */
#include <elf.h>

#include "common/clock.h"
#include "common/schema/fnv.h"
#include "common/text.h"
#include "tracer/cuda/cuda.h"
#include "tracer/cuda/row.h"

#define STO_CUDA_ENTRY 0x10 /* flag of st_other: a kernel */
#define KERNELS_MAX 65536u  /* of a module; more have no rows */
#define HASHED_MAX 2u /* times the bytes of the cubin: code and names that overlap end there */

/* Hashes whole words, since a cubin may have megabytes. */
uint64_t cuda_code_hash(const uint8_t *code, size_t bytes)
{
	uint64_t hash = bytes, word;
	for (; bytes >= sizeof(word); bytes -= sizeof(word), code += sizeof(word)) {
		bytes_copy(&word, code, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x100000001b3);
		hash ^= hash >> 32;
	}
	word = 0;
	bytes_copy(&word, code, bytes);
	return (hash ^ word) * UINT64_C(0x100000001b3);
}

struct cubin {
	const uint8_t *data;
	uint64_t bytes, hash;
	uint64_t left; /* bytes that may still be hashed */
	Elf64_Ehdr header;
};

static bool copy_at(const struct cubin *c, uint64_t offset, void *to, size_t bytes)
{
	if (offset > c->bytes || bytes > c->bytes - offset)
		return false;
	bytes_copy(to, c->data + offset, bytes);
	return true;
}

static bool section_at(const struct cubin *c, uint32_t index, Elf64_Shdr *s)
{
	return index < c->header.e_shnum && c->header.e_shoff <= c->bytes &&
		copy_at(c, c->header.e_shoff + index * sizeof(*s), s, sizeof(*s)) &&
		s->sh_offset <= c->bytes && s->sh_size <= c->bytes - s->sh_offset;
}

/* Hash a name. Return 0 if it is empty or has no end in its table. */
static uint64_t name_hash(struct cubin *c, const Elf64_Shdr *names, uint32_t offset)
{
	uint64_t hash = FNV_EMPTY;
	for (uint64_t i = offset; i < names->sh_size && c->left; i++, c->left--) {
		uint8_t letter = c->data[names->sh_offset + i];
		if (!letter)
			return i > offset ? hash : 0;
		hash = fnv_add(hash, letter);
	}
	return 0;
}

static void kernel_put(
	struct thread *t, struct cubin *c, const Elf64_Shdr *names, const Elf64_Sym *symbol)
{
	uint64_t values[CUDA_COLUMNS_MAX + 1] = {0};
	Elf64_Shdr code;
	if (!section_at(c, symbol->st_shndx, &code) || code.sh_type != SHT_PROGBITS)
		return;
	/* Versions of CUPTI differ in whether a symbol is an offset or an address. */
	uint64_t offset = symbol->st_value < code.sh_size ? symbol->st_value : 0;
	uint64_t bytes = symbol->st_size;
	if (!bytes || bytes > code.sh_size - offset)
		bytes = code.sh_size - offset;
	if (bytes > c->left)
		return;
	c->left -= bytes;
	values[COLUMN_CUDA_KERNEL_CODE_NAME_HASH] = name_hash(c, names, symbol->st_name);
	values[COLUMN_CUDA_KERNEL_CODE_CODE_HASH] =
		cuda_code_hash(c->data + code.sh_offset + offset, bytes);
	values[COLUMN_CUDA_KERNEL_CODE_CODE_BYTES] = bytes;
	values[COLUMN_CUDA_KERNEL_CODE_CUBIN_HASH] = c->hash;
	cuda_row_put(t, NUMBER_CUDA_KERNEL_CODE, clock_monotonic_ns(), 0, values);
}

void cuda_kernel_code_put(struct thread *t, const uint8_t *data, size_t bytes, uint64_t hash)
{
	struct cubin c = {
		.data = data, .bytes = bytes, .hash = hash, .left = HASHED_MAX * (uint64_t)bytes};
	Elf64_Shdr symbols = {.sh_type = SHT_NULL}, names;
	if (!copy_at(&c, 0, &c.header, sizeof(c.header)) ||
		c.header.e_ident[EI_CLASS] != ELFCLASS64 || c.header.e_machine != EM_CUDA)
		return;
	for (uint32_t i = 0; symbols.sh_type != SHT_SYMTAB; i++)
		if (i >= c.header.e_shnum || !section_at(&c, i, &symbols))
			return;
	if (!section_at(&c, symbols.sh_link, &names))
		return;
	uint32_t kernels = 0;
	Elf64_Sym symbol;
	for (uint64_t at = 0; symbols.sh_size - at >= sizeof(symbol) && kernels < KERNELS_MAX;
		at += sizeof(symbol)) {
		bytes_copy(&symbol, data + symbols.sh_offset + at, sizeof(symbol));
		if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_other & STO_CUDA_ENTRY) {
			kernel_put(t, &c, &names, &symbol);
			kernels++;
		}
	}
}
