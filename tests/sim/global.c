/* SPDX-License-Identifier: Apache-2.0 */
/*
 * global.c - variables of device code: their sizes and initial values are in the cubin's symbol
 * table; variables in PTX text are not simulated.
 */
#include "tests/sim/driver.h"
#include "impl.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

static struct global {
	CUmodule module;
	char *name;
	void *memory;
	size_t bytes;
	struct global *next;
} * globals;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Return the symbol of that name in a table, or NULL. */
static const Elf64_Sym *find_symbol(
	const char *image, const Elf64_Shdr *table, const Elf64_Shdr *strings, const char *name)
{
	const Elf64_Sym *symbols = (const Elf64_Sym *)(image + table->sh_offset);

	for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++)
		if (ELF64_ST_TYPE(symbols[i].st_info) == STT_OBJECT &&
			!strcmp(image + strings->sh_offset + symbols[i].st_name, name))
			return &symbols[i];
	return NULL;
}

/* Return memory of the variable's size with its initial value, or NULL if there is no such
 * variable. */
static void *make_global(const char *image, const char *name, size_t *ret_bytes)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(image + header->e_shoff);
	const Elf64_Sym *symbol = NULL;
	void *memory;

	for (unsigned i = 0; i < header->e_shnum && !symbol; i++)
		if (sections[i].sh_type == SHT_SYMTAB)
			symbol = find_symbol(
				image, &sections[i], &sections[sections[i].sh_link], name);
	if (!symbol)
		return NULL;
	*ret_bytes = symbol->st_size;
	memory = calloc(1, symbol->st_size ? symbol->st_size : 1);
	if (memory && symbol->st_shndx < header->e_shnum &&
		sections[symbol->st_shndx].sh_type != SHT_NOBITS)
		memcpy(memory, image + sections[symbol->st_shndx].sh_offset + symbol->st_value,
			symbol->st_size);
	return memory;
}

static struct global *find_or_make(CUmodule module, const char *name)
{
	struct global *global;
	size_t bytes = 0;
	void *memory;

	for (global = globals; global; global = global->next)
		if (global->module == module && !strcmp(global->name, name))
			return global;
	memory = memcmp(module->image, ELFMAG, SELFMAG) ? NULL
							: make_global(module->image, name, &bytes);
	global = memory ? calloc(1, sizeof *global) : NULL;
	if (!global)
		return NULL;
	*global = (struct global){module, strdup(name), memory, bytes, globals};
	return globals = global;
}

CUresult impl_cuModuleGetGlobal_v2(
	CUdeviceptr *ret_address, size_t *ret_bytes, CUmodule module, const char *name)
{
	struct global *global;

	if (!module || !name)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&mutex);
	global = find_or_make(module, name);
	pthread_mutex_unlock(&mutex);
	if (!global)
		return CUDA_ERROR_NOT_FOUND;
	if (ret_address)
		*ret_address = (CUdeviceptr)(uintptr_t)global->memory;
	if (ret_bytes)
		*ret_bytes = global->bytes;
	return CUDA_SUCCESS;
}

CUresult impl_cuLibraryGetGlobal(
	CUdeviceptr *ret_address, size_t *ret_bytes, CUlibrary library, const char *name)
{
	return impl_cuModuleGetGlobal_v2(ret_address, ret_bytes, (CUmodule)library, name);
}
