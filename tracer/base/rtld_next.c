/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtld_next.c - lookup of functions after this library, in the hash tables of loaded objects.
 */
#define _GNU_SOURCE
#include "tracer/base/rtld_next.h"

#include <link.h>
#include <stddef.h>

#include "common/text.h"

#define VERSION_HIDDEN 0x8000u

/* glibc relocates the pointers of dynamic sections that are writable, but not the pointers of the
 * vdso. */
static uint64_t pointer_of(const struct link_map *map, uint64_t value)
{
	return value < map->l_addr ? value + map->l_addr : value;
}

/* DT_GNU_HASH: four numbers, Bloom filter, buckets, chains. */
static bool hash_open(struct rtld_next_object *object, const uint32_t *table)
{
	uint32_t bloom_words = table[2];
	if (!table[0] || !bloom_words || bloom_words & (bloom_words - 1))
		return false;
	object->bucket_count = table[0];
	object->first_symbol = table[1];
	object->bloom_mask = bloom_words - 1;
	object->bloom_shift = table[3];
	object->bloom = (const uint64_t *)(const void *)(table + 4);
	object->buckets = (const uint32_t *)(object->bloom + bloom_words);
	object->chains = object->buckets + object->bucket_count;
	return true;
}

static bool object_open(struct rtld_next_object *object, const struct link_map *map)
{
	const uint32_t *hash = NULL;
	*object = (struct rtld_next_object){.bias = map->l_addr};
	for (const Elf64_Dyn *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		const void *at = (const void *)(uintptr_t)pointer_of(map, d->d_un.d_ptr);
		if (d->d_tag == DT_GNU_HASH)
			hash = at;
		else if (d->d_tag == DT_SYMTAB)
			object->symbols = at;
		else if (d->d_tag == DT_STRTAB)
			object->strings = at;
		else if (d->d_tag == DT_VERSYM)
			object->versions = at;
		else if (d->d_tag == DT_VERDEF)
			object->definitions = at;
	}
	return hash && object->symbols && object->strings && hash_open(object, hash);
}

bool rtld_is_vdso(const struct link_map *map)
{
	return text_begins(map->l_name, "linux-vdso") || text_begins(map->l_name, "linux-gate");
}

#pragma weak _r_debug /* only glibc has it */

static const struct link_map *map_of(const void *dynamic)
{
	const struct link_map *map = &_r_debug ? _r_debug.r_map : NULL;
	while (map && map->l_ld != dynamic)
		map = map->l_next;
	return map;
}

bool rtld_next_open(struct rtld_next_scope *scope, const void *own_dynamic)
{
	const struct link_map *own = map_of(own_dynamic);
	scope->count = 0;
	if (!own)
		return false;
	for (const struct link_map *map = own->l_next; map; map = map->l_next) {
		if (rtld_is_vdso(map))
			continue;
		if (scope->count == RTLD_NEXT_OBJECTS_MAX ||
			!object_open(&scope->objects[scope->count], map)) {
			scope->count = 0;
			return false;
		}
		scope->count++;
	}
	return scope->count > 0;
}

uint32_t rtld_hash(const char *name)
{
	uint32_t hash = 5381;
	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

static const char *version_name(const struct rtld_next_object *object, uint16_t index)
{
	const char *at = object->definitions;
	while (at) {
		const Elf64_Verdef *definition = (const void *)at;
		const Elf64_Verdaux *name = (const void *)(at + definition->vd_aux);
		if (definition->vd_ndx == index)
			return object->strings + name->vda_name;
		at = definition->vd_next ? at + definition->vd_next : NULL;
	}
	return NULL;
}

#define VERSION_GLOBAL 1u

/* Return whether a function has the wanted version. A function without a version always fits: it
 * belongs to an interposer. (dlvsym() would skip it, if its library needs versions of others.) */
static bool version_fits(
	const struct rtld_next_object *object, uint32_t symbol, const char *version)
{
	if (!object->versions)
		return true;
	uint16_t index = object->versions[symbol];
	if (!version)
		return !(index & VERSION_HIDDEN);
	if (index <= VERSION_GLOBAL)
		return true;
	const char *name = version_name(object, index & (VERSION_HIDDEN - 1));
	return name && text_equal(name, version);
}

static const uint64_t *bloom_word(const struct rtld_next_object *object, uint32_t hash)
{
	return &object->bloom[hash / 64 & object->bloom_mask];
}

static bool bloom_has(const struct rtld_next_object *object, uint32_t hash)
{
	uint64_t word = *bloom_word(object, hash);
	return word >> hash % 64 & word >> (hash >> object->bloom_shift) % 64 & 1;
}

static const Elf64_Sym *object_find(
	const struct rtld_next_object *object, uint32_t hash, const char *name, const char *version)
{
	const Elf64_Sym *symbols = object->symbols;
	if (!bloom_has(object, hash))
		return NULL;
	uint32_t i = object->buckets[hash % object->bucket_count];
	if (i < object->first_symbol)
		return NULL;
	for (;; i++) {
		uint32_t chained = object->chains[i - object->first_symbol];
		const Elf64_Sym *symbol = &symbols[i];
		if ((chained | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
			symbol->st_value && ELF64_ST_TYPE(symbol->st_info) != STT_TLS &&
			text_equal(object->strings + symbol->st_name, name) &&
			version_fits(object, i, version))
			return symbol;
		if (chained & 1)
			return NULL;
	}
}

/* Names that object_find() looks for in the same object, `at`: its bucket, later its symbol. */
struct searched {
	const struct rtld_next_object *object;
	uint32_t at;
};

/* Move the names that the object may have from `hashes` to `found`. Return how many are left. */
static uint32_t bloom_select(const struct rtld_next_object *object, uint32_t *hashes,
	uint32_t count, struct searched *found, uint32_t *found_count)
{
	uint32_t left = 0;
	for (uint32_t i = 0; i < count; i++)
		__builtin_prefetch(bloom_word(object, hashes[i]));
	for (uint32_t i = 0; i < count; i++) {
		if (bloom_has(object, hashes[i]))
			found[(*found_count)++] =
				(struct searched){object, hashes[i] % object->bucket_count};
		else
			hashes[left++] = hashes[i];
	}
	return left;
}

void rtld_scope_prefetch(
	const struct rtld_next_scope *scope, const uint32_t *hashes, uint32_t count)
{
	struct searched found[RTLD_BATCH];
	uint32_t left[RTLD_BATCH], n = 0;
	for (uint32_t i = 0; i < count; i++)
		left[i] = hashes[i];
	for (uint32_t i = 0; i < scope->count && count; i++)
		count = bloom_select(&scope->objects[i], left, count, found, &n);
	for (uint32_t i = 0; i < n; i++)
		__builtin_prefetch(&found[i].object->buckets[found[i].at]);
	for (uint32_t i = 0; i < n; i++) {
		const struct rtld_next_object *object = found[i].object;
		uint32_t symbol = object->buckets[found[i].at];
		found[i].at = symbol < object->first_symbol ? object->first_symbol : symbol;
		__builtin_prefetch(&object->chains[found[i].at - object->first_symbol]);
		__builtin_prefetch((const Elf64_Sym *)object->symbols + found[i].at);
		if (object->versions)
			__builtin_prefetch(&object->versions[found[i].at]);
	}
	for (uint32_t i = 0; i < n; i++) {
		const Elf64_Sym *symbol = (const Elf64_Sym *)found[i].object->symbols + found[i].at;
		__builtin_prefetch(found[i].object->strings + symbol->st_name);
	}
}

void *rtld_next_find(const struct rtld_next_scope *scope, const char *name, const char *version)
{
	uint32_t hash = rtld_hash(name);
	for (uint32_t i = 0; i < scope->count; i++) {
		const struct rtld_next_object *object = &scope->objects[i];
		const Elf64_Sym *symbol = object_find(object, hash, name, version);
		if (!symbol)
			continue;
		if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
			return NULL;
		return (void *)(uintptr_t)(object->bias + symbol->st_value);
	}
	return NULL;
}

static const char *strings_of(const struct link_map *map)
{
	for (const Elf64_Dyn *d = map->l_ld; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB)
			return (const char *)(uintptr_t)pointer_of(map, d->d_un.d_ptr);
	return NULL;
}

/* Return the name of a library by which others need it: DT_SONAME, else that of its file. */
static const char *needed_name(const struct link_map *map)
{
	const char *strings = strings_of(map);
	for (const Elf64_Dyn *d = map->l_ld; strings && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_SONAME)
			return strings + d->d_un.d_val;
	return text_base_name(map->l_name);
}

bool rtld_needs(const struct link_map *map, const struct link_map *other)
{
	const char *strings = strings_of(map), *name = needed_name(other);
	for (const Elf64_Dyn *d = map->l_ld; strings && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED &&
			(text_equal(strings + d->d_un.d_val, name) ||
				text_equal(strings + d->d_un.d_val, other->l_name)))
			return true;
	return false;
}

bool rtld_scope_add(struct rtld_next_scope *scope, const struct link_map *map)
{
	if (scope->count == RTLD_NEXT_OBJECTS_MAX || rtld_is_vdso(map) ||
		!object_open(&scope->objects[scope->count], map))
		return false;
	scope->count++;
	return true;
}

bool rtld_scope_has(const struct rtld_next_scope *scope, const char *name, uint32_t hash)
{
	for (uint32_t i = 0; i < scope->count; i++)
		if (object_find(&scope->objects[i], hash, name, NULL))
			return true;
	return false;
}

/* Return the address of a symbol; let the library choose it, if it does so at run time. */
static uint64_t address_of(const struct rtld_next_object *object, const Elf64_Sym *symbol)
{
	uint64_t address = object->bias + symbol->st_value;
	return ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC
		? ((uint64_t(*)(void))(uintptr_t)address)()
		: address;
}

uint64_t rtld_scope_find(
	const struct rtld_next_scope *scope, const char *name, uint32_t hash, const char *version)
{
	for (uint32_t i = 0; i < scope->count; i++) {
		const struct rtld_next_object *object = &scope->objects[i];
		const Elf64_Sym *symbol = object_find(object, hash, name, version);
		if (symbol)
			return address_of(object, symbol);
	}
	return 0;
}

uint64_t rtld_object_find(const struct rtld_next_object *object, const char *name, uint32_t hash)
{
	const Elf64_Sym *symbol = object_find(object, hash, name, NULL);
	return symbol ? address_of(object, symbol) : 0;
}

uint64_t rtld_next_find_from(const struct link_map *map, const char *name)
{
	uint32_t hash = rtld_hash(name);
	for (; map; map = map->l_next) {
		struct rtld_next_object object;
		if (rtld_is_vdso(map) || !object_open(&object, map))
			continue;
		const Elf64_Sym *symbol = object_find(&object, hash, name, NULL);
		if (!symbol)
			continue;
		return address_of(&object, symbol);
	}
	return 0;
}

static uint64_t find_in(
	const struct link_map *map, uint32_t hash, const char *name, uint64_t *ret_bytes)
{
	struct rtld_next_object object;
	if (rtld_is_vdso(map) || !object_open(&object, map))
		return 0;
	const Elf64_Sym *symbol = object_find(&object, hash, name, NULL);
	if (!symbol || ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
		return 0;
	*ret_bytes = symbol->st_size;
	return object.bias + symbol->st_value;
}

uint64_t rtld_find_in(const struct link_map *map, const char *name, uint64_t *ret_bytes)
{
	return find_in(map, rtld_hash(name), name, ret_bytes);
}

bool rtld_has_function(const struct link_map *map, const char *name, const char *version)
{
	struct rtld_next_object object;
	if (rtld_is_vdso(map) || !object_open(&object, map))
		return false;
	const Elf64_Sym *symbol = object_find(&object, rtld_hash(name), name, version);
	return symbol && !(symbol->st_other & MACHINE_SYMBOL_VARIANT) &&
		(ELF64_ST_TYPE(symbol->st_info) == STT_FUNC ||
			ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC);
}

uint64_t rtld_find_global(const char *name, uint64_t *ret_bytes)
{
	uint32_t hash = rtld_hash(name);
	const struct link_map *map = &_r_debug ? _r_debug.r_map : NULL;
	uint64_t found = 0;
	for (; map && !found; map = map->l_next)
		found = find_in(map, hash, name, ret_bytes);
	return found;
}
