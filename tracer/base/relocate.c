/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relocate.c - self-relocation of the library.
 *
 * Runs before the library is relocated, so it uses relative addresses only.
 */
#define _GNU_SOURCE
#include "tracer/base/relocate.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/text.h"
#include "machine/machine.h"
#include "tracer/base/rtld_next.h"

const void *const volatile relocate_mark = (const void *)&relocate_mark;

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
extern const ElfW(Dyn) own_dynamic[] __asm__("_DYNAMIC") __attribute__((visibility("hidden")));

/* Replaces thread-local memory, whose address is not known yet. Data written to it is lost. */
static _Alignas(64) char thread_memory[1024];

/* Return the program's headers, from the auxiliary vector after the environment: AT_PHDR, AT_PHENT
 * and AT_PHNUM have always been in this order. Our own frame is below on the same stack. */
static const ElfW(Phdr) * program_headers(uint64_t *ret_count)
{
	const uint64_t *word = __builtin_frame_address(0);
	while (word[0] != AT_PHDR || word[2] != AT_PHENT || word[3] != sizeof(ElfW(Phdr)) ||
		word[4] != AT_PHNUM)
		word++;
	*ret_count = word[5];
	return (const ElfW(Phdr) *)(uintptr_t)word[1];
}

/* Return the first of the loaded objects, the program: its dynamic section leads to the list. */
static const struct link_map *objects(void)
{
	uint64_t count, bias = 0;
	const ElfW(Phdr) *segment = program_headers(&count);
	const ElfW(Dyn) *d = NULL;
	for (uint64_t i = 0; i < count; i++)
		if (segment[i].p_type == PT_PHDR)
			bias = (uint64_t)(uintptr_t)segment - segment[i].p_vaddr;
	for (uint64_t i = 0; i < count; i++)
		if (segment[i].p_type == PT_DYNAMIC)
			d = (const void *)(uintptr_t)(bias + segment[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_DEBUG && d->d_un.d_ptr)
			return ((const struct r_debug *)(uintptr_t)d->d_un.d_ptr)->r_map;
	return NULL;
}

struct own {
	uint64_t base;
	const struct link_map *objects;
	const ElfW(Sym) * symbols;
	const char *strings;
};

static void apply(const struct own *own, const ElfW(Rela) * r)
{
	uint64_t *place = (uint64_t *)(uintptr_t)(own->base + r->r_offset);
	uint64_t value = (uint64_t)r->r_addend;
	const ElfW(Sym) *symbol = &own->symbols[ELF64_R_SYM(r->r_info)];
	switch (ELF64_R_TYPE(r->r_info)) {
	case MACHINE_RELOCATE_RELATIVE:
		*place = own->base + value;
		break;
	case MACHINE_RELOCATE_THREAD:
		*place = (uint64_t)(uintptr_t)thread_memory + symbol->st_value + value -
			machine_thread_pointer();
		break;
	case MACHINE_RELOCATE_GOT:
	case MACHINE_RELOCATE_PLT:
	case MACHINE_RELOCATE_DATA: {
		uint64_t found = rtld_next_find_from(own->objects, own->strings + symbol->st_name);
		*place = found ? found + value : 0;
		break;
	}
	}
}

static void apply_all(const struct own *own, uint64_t at, uint64_t bytes)
{
	const ElfW(Rela) *r = (const void *)(uintptr_t)at;
	for (uint64_t i = 0; i < bytes / sizeof(*r); i++)
		apply(own, &r[i]);
}

/* Fill thread_memory as it will be in each thread. */
static void fill_thread_memory(uint64_t base)
{
	const ElfW(Phdr) *segment = (const void *)(uintptr_t)(base + __ehdr_start.e_phoff);
	for (unsigned i = 0; i < __ehdr_start.e_phnum; i++)
		if (segment[i].p_type == PT_TLS && segment[i].p_memsz <= sizeof(thread_memory))
			bytes_copy(thread_memory,
				(const void *)(uintptr_t)(base + segment[i].p_vaddr),
				segment[i].p_filesz);
}

/* Return the value of `tag`, 0 if there is none. Uses no array of all values: to clear it, the
 * compiler might call memset(). */
static uint64_t dynamic_value(int64_t tag)
{
	for (const ElfW(Dyn) *d = own_dynamic; d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return d->d_un.d_val;
	return 0;
}

/* Return the address that `tag` has; it is stored as an offset until the loader has added our
 * base. */
static uint64_t dynamic_address(uint64_t base, int64_t tag)
{
	uint64_t value = dynamic_value(tag);
	return value < base ? value + base : value;
}

void relocate_self(void)
{
	struct own own;
	own.base = (uint64_t)(uintptr_t)&__ehdr_start;
	own.objects = objects();
	own.symbols = (const void *)(uintptr_t)dynamic_address(own.base, DT_SYMTAB);
	own.strings = (const void *)(uintptr_t)dynamic_address(own.base, DT_STRTAB);
	apply_all(&own, dynamic_address(own.base, DT_RELA), dynamic_value(DT_RELASZ));
	apply_all(&own, dynamic_address(own.base, DT_JMPREL), dynamic_value(DT_PLTRELSZ));
	fill_thread_memory(own.base);
}
