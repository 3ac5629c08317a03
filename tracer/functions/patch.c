/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch.c - replacement of the entries of a module's tables (GOT) that lead to wanted functions.
 *
 * Only entries for calls (MACHINE_RELOCATE_PLT) are replaced: a program may compare an address that
 * it has taken (MACHINE_RELOCATE_GOT) with another one. Nobody compares functions that are only
 * seen by a hook, or that look up others: their entries of both kinds are replaced. An entry that
 * is not bound yet is bound first, as the loader would bind it; otherwise the loader would
 * overwrite it.
 */
#define _GNU_SOURCE
#include "tracer/functions/functions.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "machine/machine.h"
#include "tracer/core/state.h"
#include "tracer/functions/lookup.h"
#include "unwind/modules.h"
#include "unwind/rules.h"

#if MACHINE_FUNCTIONS
#pragma weak _r_debug /* only glibc has it */

/* A module whose tables are being patched. */
struct patched_module {
	const struct link_map *map;
	const Elf64_Sym *symbols;
	const char *strings;
	const uint16_t *versions;
	const char *needed; /* DT_VERNEED */
	const Elf64_Rela *jumps, *others;
	uint64_t jump_count, other_count;
	uint64_t relative_count;         /* of the others: the first ones, which have no symbol */
	uint64_t begin, end;             /* addresses */
	uint64_t relro_begin, relro_end; /* whole pages that the loader has write-protected */
	uint32_t first_defined;          /* symbols from this one on are defined in the module */
	uint64_t libc_versions; /* a bit for each version of the C library, and those below 2 */
	bool is_open;           /* these pages are writable now */
	bool is_first;          /* it was loaded with the program */
	uint32_t row;           /* function_library_row() */
};

#define HOMES 32u

/* Modules of functions, since slots lead to the same few modules: the one of the last address
 * first. */
struct home {
	uint64_t begin, end;
	const struct link_map *map;
	bool is_wanted, is_first; /* is_first: it was loaded with the program */
	uint32_t row;             /* function_library_row() */
};
static struct home homes[HOMES];
static uint32_t home_count, home_last;

static const struct home *home_add(uint64_t address)
{
	struct dl_object object;
	if (!address || function_find_object((void *)(uintptr_t)address, &object) != 0)
		return NULL;
	home_last = home_count < HOMES ? home_count++ : (home_last + 1) % HOMES;
	homes[home_last] = (struct home){.begin = (uint64_t)(uintptr_t)object.begin,
		.end = (uint64_t)(uintptr_t)object.end,
		.map = object.map,
		.is_first = function_scope_is_first(object.map),
		.is_wanted = !function_library_is_excluded(object.map->l_name) &&
			function_is_wanted(NULL, object.map->l_name)};
	if (homes[home_last].is_wanted)
		homes[home_last].row = function_library_row(object.map->l_name);
	return &homes[home_last];
}

/* Return the module of a function; NULL = none. */
static const struct home *home_find(uint64_t address)
{
	if (home_count &&
		address - homes[home_last].begin < homes[home_last].end - homes[home_last].begin)
		return &homes[home_last];
	for (uint32_t i = 0; i < home_count; i++)
		if (address - homes[i].begin < homes[i].end - homes[i].begin) {
			home_last = i;
			return &homes[i];
		}
	return home_add(address);
}

/* ---- a module ---- */

/* Find the address range, and the pages that are write-protected, by the program headers. */
static bool headers_read(struct patched_module *m)
{
	struct dl_object object;
	const struct link_map *map = m->map;
	const Elf64_Phdr *p = (const void *)(uintptr_t)getauxval(AT_PHDR);
	uint64_t count = getauxval(AT_PHNUM), page = getauxval(AT_PAGESZ);
	if (map != _r_debug.r_map) { /* not the program: the first segment has the ELF header */
		if (!map->l_ld || function_find_object(map->l_ld, &object) != 0)
			return false;
		const Elf64_Ehdr *elf = object.begin;
		if (elf->e_ident[0] != ELFMAG0 || elf->e_ident[1] != ELFMAG1 ||
			elf->e_ident[2] != ELFMAG2 || elf->e_ident[3] != ELFMAG3)
			return false;
		p = (const void *)((const char *)object.begin + elf->e_phoff);
		count = elf->e_phnum;
	}
	m->begin = UINT64_MAX;
	for (uint64_t i = 0; p && i < count; i++) {
		uint64_t begin = map->l_addr + p[i].p_vaddr, end = begin + p[i].p_memsz;
		if (p[i].p_type == PT_LOAD) {
			m->begin = begin < m->begin ? begin : m->begin;
			m->end = end > m->end ? end : m->end;
		} else if (p[i].p_type == PT_GNU_RELRO) {
			m->relro_begin = begin & ~(page - 1);
			m->relro_end = end & ~(page - 1);
		}
	}
	return m->begin < m->end;
}

/* Return the number of the first symbol that the table, a DT_GNU_HASH, has: those before are not
 * defined in the module. GNU ld writes 1 if there is none. */
static uint32_t first_defined_of(const uint32_t *table)
{
	const uint32_t *buckets = table + 4 + 2 * (uint64_t)table[2];
	for (uint32_t i = 0; i < table[0]; i++)
		if (buckets[i])
			return table[1];
	return UINT32_MAX;
}

/* Read the dynamic section. Return false for a module that is not of the usual form. */
static bool module_open(struct patched_module *m, const struct link_map *map)
{
	uint64_t jump_bytes = 0, other_bytes = 0;
	*m = (struct patched_module){
		.map = map, .is_first = function_scope_is_first(map), .first_defined = UINT32_MAX};
	if (!headers_read(m))
		return false;
	for (const Elf64_Dyn *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		/* glibc has made addresses of most offsets. */
		uint64_t bias = d->d_un.d_ptr < m->begin ? map->l_addr : 0;
		const void *at = (const void *)(uintptr_t)(d->d_un.d_ptr + bias);
		switch (d->d_tag) {
		case DT_SYMTAB:
			m->symbols = at;
			break;
		case DT_STRTAB:
			m->strings = at;
			break;
		case DT_VERSYM:
			m->versions = at;
			break;
		case DT_VERNEED:
			m->needed = at;
			break;
		case DT_GNU_HASH:
			m->first_defined = first_defined_of(at);
			break;
		case DT_JMPREL:
			m->jumps = at;
			break;
		case DT_PLTRELSZ:
			jump_bytes = d->d_un.d_val;
			break;
		case DT_RELA:
			m->others = at;
			break;
		case DT_RELACOUNT:
			m->relative_count = d->d_un.d_val;
			break;
		case DT_RELASZ:
			other_bytes = d->d_un.d_val;
			break;
		default:
			break;
		}
	}
	if (map == _r_debug.r_map) /* it may have a symbol for the address of another's function */
		m->first_defined = UINT32_MAX;
	m->jump_count = jump_bytes / sizeof(Elf64_Rela);
	m->other_count = other_bytes / sizeof(Elf64_Rela);
	return m->symbols && m->strings && (uint64_t)(uintptr_t)m->symbols > m->begin;
}

/* Return the version that a reference asks for; NULL = none. */
static const char *version_of(const struct patched_module *m, uint32_t symbol)
{
	uint16_t index = m->versions ? m->versions[symbol] & 0x7fff : 0;
	if (index < 2)
		return NULL;
	for (const char *at = m->needed; at;) {
		const Elf64_Verneed *file = (const void *)at;
		const Elf64_Vernaux *name = (const void *)(at + file->vn_aux);
		for (unsigned i = 0; i < file->vn_cnt; i++) {
			if ((name->vna_other & 0x7fff) == index)
				return m->strings + name->vna_name;
			name = (const void *)((const char *)name + name->vna_next);
		}
		at = file->vn_next ? at + file->vn_next : NULL;
	}
	return NULL;
}

/* Find the versions that functions of the loader may have, so that few names are looked at. */
static void libc_versions_find(struct patched_module *m)
{
	m->libc_versions = 3;
	for (const char *at = m->needed; at;) {
		const Elf64_Verneed *file = (const void *)at;
		const Elf64_Vernaux *name = (const void *)(at + file->vn_aux);
		bool is_libc = function_library_is_excluded(m->strings + file->vn_file);
		for (unsigned i = 0; i < file->vn_cnt; i++) {
			uint16_t index = name->vna_other & 0x7fff;
			m->libc_versions |= is_libc && index < 64 ? UINT64_C(1) << index : 0;
			name = (const void *)((const char *)name + name->vna_next);
		}
		at = file->vn_next ? at + file->vn_next : NULL;
	}
}

/* Return false if a reference is certainly none to a function of the loader. */
static bool may_be_loaders(const struct patched_module *m, uint32_t symbol)
{
	uint16_t index = m->versions ? m->versions[symbol] & 0x7fff : 0;
	return index >= 64 || m->libc_versions >> index & 1;
}

/* Make the pages writable that the loader has protected. Return false if that fails. */
static bool slot_open(struct patched_module *m, uint64_t slot)
{
	if (slot < m->relro_begin || slot >= m->relro_end || m->is_open)
		return true;
	m->is_open = SYS3(SYS_mprotect, m->relro_begin, m->relro_end - m->relro_begin,
			     PROT_READ | PROT_WRITE) == 0;
	return m->is_open;
}

static bool slot_set(struct patched_module *m, uint64_t slot, uint64_t value)
{
	if (!slot_open(m, slot))
		return false;
	__atomic_store_n((uint64_t *)(uintptr_t)slot, value, __ATOMIC_RELEASE);
	return true;
}

/* Return the function that an entry that is not bound leads to; 0 = none, or none that certainly
 * stays loaded: the loader notes what it binds, and keeps both loaded as long; we cannot. */
static uint64_t bound_of(const struct patched_module *m, const char *name, uint32_t number)
{
	bool unknown = false;
	uint64_t real = function_scope_find(name, version_of(m, number), m->is_first, &unknown);
	const struct home *home = real ? home_find(real) : NULL;
	if (home && !home->is_first && !function_scope_keeps(m->map, home->map)) {
		unknown = home->is_wanted;
		real = 0;
	}
	function_counts.unresolved +=
		unknown && ELF64_ST_BIND(m->symbols[number].st_info) != STB_WEAK;
	return real;
}

static bool is_bound(const struct patched_module *m, uint64_t real)
{
	return real - m->begin >= m->end - m->begin;
}

/* Return true if calls from the module to this one may be recorded. */
static bool is_patched_for(const struct patched_module *m, const struct home *home)
{
	return home->is_wanted && function_is_between(m->map, m->row, home->map, home->row);
}

/* Return the stub of a function, and create it if it is wanted and there is none. `other`: st_other
 * of its symbol. */
static void *stub_of(uint64_t real, const char *name, unsigned char other, const struct home *home)
{
	void *stub = function_stub_known(real, name, home->map->l_name);
	if (stub || !function_is_wanted(name, home->map->l_name))
		return stub;
	if (function_is_excluded(name) || (other & MACHINE_SYMBOL_VARIANT)) {
		function_counts.excluded++;
		function_matched_note(name, home->map->l_name);
		return NULL;
	}
	return function_stub(real, name, home->map->l_name);
}

/* Let an entry of a function of the loader lead to ours, if it leads to the one that ours calls. */
static void lookup_patch(struct patched_module *m, const Elf64_Rela *r, const char *name)
{
	uint64_t loaders = 0, slot = m->map->l_addr + r->r_offset;
	uint64_t ours = function_lookup_entry(name, &loaders);
	uint32_t number = (uint32_t)ELF64_R_SYM(r->r_info);
	if (!ours || !loaders || m->symbols[number].st_shndx != SHN_UNDEF)
		return;
	uint64_t real = *(const uint64_t *)(uintptr_t)slot;
	if (real - m->begin < m->end - m->begin)
		real = function_scope_first(name, version_of(m, number));
	if (real == loaders)
		slot_set(m, slot, ours);
}

/* Return false, without a look at its name, if an entry is certainly not to be replaced. */
static bool may_be_wanted(const struct patched_module *m, uint32_t number, uint64_t real)
{
	if (!is_bound(m, real)) /* not bound, or a call of its own function */
		return number < m->first_defined &&
			(!function_scope_wants_none() || may_be_loaders(m, number));
	const struct home *home = home_find(real);
	return home && (is_patched_for(m, home) || function_is_lookup(real));
}

static void slot_patch(struct patched_module *m, const Elf64_Rela *r)
{
	uint32_t number = (uint32_t)ELF64_R_SYM(r->r_info);
	uint64_t slot = m->map->l_addr + r->r_offset, real = *(const uint64_t *)(uintptr_t)slot;
	function_counts.slots++;
	if (!may_be_wanted(m, number, real))
		return;
	const char *name = m->strings + m->symbols[number].st_name;
	lookup_patch(m, r, name);
	if (!function_name_is_wanted(name))
		return;
	if (!is_bound(m, real))
		real = m->symbols[number].st_shndx == SHN_UNDEF ? bound_of(m, name, number) : 0;
	const struct home *home = real ? home_find(real) : NULL;
	if (!home || !is_patched_for(m, home))
		return;
	void *stub = stub_of(real, name, m->symbols[number].st_other, home);
	if (!stub)
		return;
	if (slot_set(m, slot, (uint64_t)(uintptr_t)stub))
		function_counts.patched++;
	else
		function_counts.unresolved++;
}

/* Count and note an import of a wanted function's address, or replace it. */
static __attribute__((noinline)) void address_count(struct patched_module *m, const Elf64_Rela *r)
{
	const uint64_t type = ELF64_R_TYPE(r->r_info);
	const Elf64_Sym *symbol = &m->symbols[ELF64_R_SYM(r->r_info)];
	if ((type != MACHINE_RELOCATE_GOT && type != MACHINE_RELOCATE_DATA) ||
		symbol->st_shndx != SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
		return;
	const char *name = m->strings + symbol->st_name;
	if (type == MACHINE_RELOCATE_GOT)
		lookup_patch(m, r, name);
	if (!function_name_is_wanted(name))
		return;
	uint64_t real = *(const uint64_t *)(uintptr_t)(m->map->l_addr + r->r_offset);
	const struct home *home = home_find(real);
	const bool is_wanted = home && home->is_wanted && home->map != m->map;
	const bool is_got = type == MACHINE_RELOCATE_GOT;
	if (is_got && is_wanted &&
		(home->row == FUNCTION_HOOK_ROW || (home->row && library_lookup(name)))) {
		slot_patch(m, r);
		return;
	}
	function_taken_note(name);
	if (is_wanted)
		function_matched_note(name, home->map->l_name);
	if (is_got && is_wanted && !function_is_excluded(name))
		function_counts.addresses++;
}

/* Likewise all of them. Most entries, seven times as many as there are slots in clang, are of
 * symbols that the module defines. */
static void addresses_count(struct patched_module *m)
{
	const uint64_t imports = m->first_defined;
	const Elf64_Rela *end = m->others + m->other_count;
	for (const Elf64_Rela *r = m->others + m->relative_count; r < end; r++)
		if (ELF64_R_SYM(r->r_info) < imports)
			address_count(m, r);
}

/* Load what these entries need into the cache, all at the same time: symbols, names, and what the
 * lookups of the wanted names read are all over several files. */
static void slots_prefetch(const struct patched_module *m, const Elf64_Rela *r, uint32_t count)
{
	const Elf64_Sym *symbols[RTLD_BATCH];
	uint32_t hashes[RTLD_BATCH], n = 0, wanted = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t number = (uint32_t)ELF64_R_SYM(r[i].r_info);
		uint64_t slot = m->map->l_addr + r[i].r_offset;
		if (!may_be_wanted(m, number, *(const uint64_t *)(uintptr_t)slot))
			continue;
		symbols[n++] = &m->symbols[number];
		__builtin_prefetch(&m->symbols[number]);
	}
	for (uint32_t i = 0; i < n; i++)
		__builtin_prefetch(m->strings + symbols[i]->st_name);
	if (function_scope_wants_none())
		return;
	for (uint32_t i = 0; i < n; i++) {
		const char *name = m->strings + symbols[i]->st_name;
		if (function_name_is_wanted(name))
			hashes[wanted++] = rtld_hash(name);
	}
	function_scope_prefetch(hashes, wanted);
}

static void module_patch(const struct link_map *map)
{
	struct patched_module m;
	if (function_library_is_excluded(map->l_name) || !module_open(&m, map))
		return;
	function_counts.modules++;
	m.row = function_library_row(map->l_name);
	libc_versions_find(&m);
	for (uint64_t i = 0; i < m.jump_count; i++) {
		if (i % RTLD_BATCH == 0)
			slots_prefetch(&m, &m.jumps[i],
				m.jump_count - i < RTLD_BATCH ? (uint32_t)(m.jump_count - i)
							      : RTLD_BATCH);
		if (ELF64_R_TYPE(m.jumps[i].r_info) == MACHINE_RELOCATE_PLT)
			slot_patch(&m, &m.jumps[i]);
	}
	addresses_count(&m);
	if (m.is_open)
		SYS3(SYS_mprotect, m.relro_begin, m.relro_end - m.relro_begin, PROT_READ);
}

/* ---- unloading ---- */

static int unloads_read(struct dl_phdr_info *info, size_t bytes, void *user)
{
	(void)bytes;
	*(uint64_t *)user = info->dlpi_subs;
	return 1;
}

/* Forget the rules of code that was at these addresses before and was unloaded: a wrong rule would
 * give a wrong size of the arguments. */
static void unloaded_forget(uint64_t begin, uint64_t end)
{
	uint64_t unloads = 1; /* of the process so far */
	if (session.iterate_phdr)
		session.iterate_phdr(unloads_read, &unloads);
	if (unloads)
		rules_drop(begin, end);
}

static bool can_patch(void)
{
	return function_tables && !session.restricted && &_r_debug && !thread_self.vfork_pid;
}

static uint64_t begin_tick;

static void patch_begin(void)
{
	begin_tick = clock_ticks();
	thread_enter(&thread_self);
	home_count = 0;
	function_scope_changed();
}

static void patch_end(void)
{
	if (session.spool && session_is_ours()) {
		session.spool->function = function_counts;
		session.spool->tracer_ticks += clock_ticks() - begin_tick;
	}
	thread_leave(&thread_self);
}

void functions_patch_all(void)
{
	if (!can_patch())
		return;
	patch_begin();
	function_scope_open();
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
		module_patch(map);
	patch_end();
}

void functions_patch_module_at(const void *address)
{
	struct dl_object object;
	if (!can_patch() || function_find_object((void *)(uintptr_t)address, &object) != 0 ||
		function_scope_is_first(object.map)) /* functions_patch_all() has patched it */
		return;
	patch_begin();
	unloaded_forget((uint64_t)(uintptr_t)object.begin, (uint64_t)(uintptr_t)object.end);
	module_patch(object.map);
	patch_end();
}
#else
void functions_patch_all(void)
{
}

void functions_patch_module_at(const void *address)
{
	(void)address;
}
#endif

void functions_ready(void)
{
	if (function_tables && !function_counts.modules)
		functions_patch_all();
}
