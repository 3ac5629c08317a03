/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope.c - what an entry of a module's tables leads to that is not bound yet.
 */
#define _GNU_SOURCE
#include "tracer/functions/scope.h"

#include <dlfcn.h>
#include <link.h>

#include "tracer/base/libc.h"
#include "tracer/functions/functions.h"

#pragma weak _r_debug /* only glibc has it */

#define WANTED_FEW 8u /* so many lookups cost less than one in all modules */

static bool deep_seen;

void function_scope_deep(void)
{
	__atomic_store_n(&deep_seen, true, __ATOMIC_RELAXED);
}

void function_scope_open(void)
{
	struct function_scope *scope = &function_tables->scope;
	scope->is_usual = true;
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
		scope->last = map;
		if (!rtld_scope_add(&scope->first, map) && !rtld_is_vdso(map))
			scope->is_usual = false;
	}
}

void function_scope_changed(void)
{
	function_tables->scope.wanted_found = false;
	function_tables->scope.later.count = 0;
	function_tables->scope.needed_count = 0;
}

bool function_scope_is_first(const struct link_map *map)
{
	const struct link_map *last = function_tables->scope.last;
	while (map && map != last)
		map = map->l_next;
	return map != NULL;
}

static bool is_among(const struct function_scope *scope, const struct link_map *map)
{
	uint32_t i = 0;
	while (i < scope->needed_count && scope->needed[i] != map)
		i++;
	return i < scope->needed_count;
}

static void needed_find(struct function_scope *scope, const struct link_map *map)
{
	scope->needed[0] = map;
	scope->needed_count = 1;
	for (uint32_t i = 0; i < scope->needed_count; i++)
		for (const struct link_map *at = scope->last->l_next;
			at && scope->needed_count < NEEDED_MAX; at = at->l_next)
			if (rtld_needs(scope->needed[i], at) && !is_among(scope, at))
				scope->needed[scope->needed_count++] = at;
}

bool function_scope_keeps(const struct link_map *map, const struct link_map *other)
{
	struct function_scope *scope = &function_tables->scope;
	if (function_scope_is_first(other))
		return true;
	if (!scope->needed_count || scope->needed[0] != map)
		needed_find(scope, map);
	return is_among(scope, other);
}

static void wanted_find(struct function_scope *scope)
{
	scope->wanted.count = 0;
	scope->wanted_is_all = false;
	scope->wanted_found = true;
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
		if (function_library_is_excluded(map->l_name) ||
			!function_is_wanted(NULL, map->l_name))
			continue;
		if (!rtld_scope_add(&scope->wanted, map) || scope->wanted.count > WANTED_FEW) {
			scope->wanted_is_all = true;
			return;
		}
	}
}

/* Return false if no library that a pattern matches has the function. Few names of a module are of
 * such a library. */
static bool is_in_wanted(struct function_scope *scope, const char *name, uint32_t hash)
{
	if (!scope->wanted_found)
		wanted_find(scope);
	return scope->wanted_is_all || rtld_scope_has(&scope->wanted, name, hash);
}

bool function_scope_wants_none(void)
{
	struct function_scope *scope = &function_tables->scope;
	if (!scope->wanted_found)
		wanted_find(scope);
	return !scope->wanted_is_all && !scope->wanted.count;
}

void function_scope_prefetch(const uint32_t *hashes, uint32_t count)
{
	const struct function_scope *scope = &function_tables->scope;
	rtld_scope_prefetch(scope->wanted_is_all ? &scope->first : &scope->wanted, hashes, count);
}

/* Find in the modules that were loaded later. *ret_count is the number of those that have it. */
static uint64_t later_find(
	struct function_scope *scope, const char *name, uint32_t hash, uint32_t *ret_count)
{
	struct rtld_next_scope *later = &scope->later;
	if (!later->count)
		for (const struct link_map *map = scope->last->l_next; map; map = map->l_next)
			rtld_scope_add(later, map);
	uint64_t found = 0;
	for (uint32_t i = 0; i < later->count; i++) {
		uint64_t other = rtld_object_find(&later->objects[i], name, hash);
		*ret_count += other != 0;
		found = found ? found : other;
	}
	return found;
}

/* Ask the loader. A handle of glibc is the address of a link_map; that of the program stands for
 * the global scope. */
static uint64_t loader_find(const char *name, const char *version)
{
	void *handle = _r_debug.r_map;
	void *found = version ? libc.dlvsym(handle, name, version) : libc.dlsym(handle, name);
	if (found)
		return (uint64_t)(uintptr_t)found;
	libc_error_forget();
	return 0;
}

uint64_t function_scope_first(const char *name, const char *version)
{
	const struct function_scope *scope = &function_tables->scope;
	return scope->is_usual ? rtld_scope_find(&scope->first, name, rtld_hash(name), version) : 0;
}

uint64_t function_scope_find(
	const char *name, const char *version, bool is_first, bool *ret_unknown)
{
	struct function_scope *scope = &function_tables->scope;
	uint32_t hash = rtld_hash(name), count = 0;
	*ret_unknown = false;
	if (!is_in_wanted(scope, name, hash))
		return 0;
	if (!is_first && __atomic_load_n(&deep_seen, __ATOMIC_RELAXED)) {
		/* Its own libraries may come first: only what no other library has is known. */
		later_find(scope, name, hash, &count);
		if (count) {
			*ret_unknown = true;
			return 0;
		}
	}
	uint64_t found = scope->is_usual ? rtld_scope_find(&scope->first, name, hash, version) : 0;
	if (found || (is_first && scope->is_usual))
		return found;
	found = loader_find(name, version);
	if (found)
		return found;
	/* The libraries of a module that was loaded with RTLD_LOCAL are not known. */
	found = later_find(scope, name, hash, &count);
	*ret_unknown = count != 1;
	return count == 1 ? found : 0;
}
