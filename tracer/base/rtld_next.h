/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtld_next.h - lookup of hundreds of functions as by dlsym(RTLD_NEXT), in a fifth of its time.
 *
 * dlsym takes locks and hashes each name for each object; in the short processes of a build, this
 * would be the largest cost of tracing. Here the tables of the objects after ours (System V gABI;
 * DT_GNU_HASH as in glibc's elf/dl-lookup.c) are opened once. Unusual cases are left to dlsym: see
 * rtld_next_find().
 */
#ifndef TRACER_BASE_RTLD_NEXT_H
#define TRACER_BASE_RTLD_NEXT_H

#include <stdbool.h>
#include <stdint.h>

struct link_map; /* declared in <link.h> */

#define RTLD_NEXT_OBJECTS_MAX 512u

struct rtld_next_object {
	uint64_t bias;
	const uint64_t *bloom;
	const uint32_t *buckets, *chains; /* chains[i] belongs to symbol i + first_symbol */
	const void *symbols, *definitions;
	const uint16_t *versions; /* NULL = the object has none */
	const char *strings;
	uint32_t bucket_count, first_symbol, bloom_mask, bloom_shift;
};

struct rtld_next_scope {
	uint32_t count;
	struct rtld_next_object objects[RTLD_NEXT_OBJECTS_MAX];
};

/*
 * Open the objects loaded after the one whose _DYNAMIC is given. Return false if there are none or
 * too many, or if one has no GNU hash table: only dlsym can look up then, and the scope is empty.
 * Call while no other thread loads or unloads objects, as in constructors at the start; objects
 * loaded at the start stay.
 */
bool rtld_next_open(struct rtld_next_scope *scope, const void *own_dynamic);

/* Add an object, which must stay loaded while the scope is used. Return false if there is no room,
 * or if it has no GNU hash table. */
bool rtld_scope_add(struct rtld_next_scope *scope, const struct link_map *map);

/* Return true for the vdso, which is in the list of objects, but is not searched. */
bool rtld_is_vdso(const struct link_map *map);

/* Return true if an object was linked with `other`, which therefore stays loaded while it does.
 * Both must stay loaded meanwhile. */
bool rtld_needs(const struct link_map *map, const struct link_map *other);

/* Return the hash of a name for the following functions, all of which any thread may call, and
 * which are async-signal-safe. */
uint32_t rtld_hash(const char *name);

/* Return true if some object has a function or variable `name`. */
bool rtld_scope_has(const struct rtld_next_scope *scope, const char *name, uint32_t hash);

#define RTLD_BATCH 16u

/* Load what lookups of names with these hashes, at most RTLD_BATCH, will read into the processor's
 * cache, for all of them at the same time. */
void rtld_scope_prefetch(
	const struct rtld_next_scope *scope, const uint32_t *hashes, uint32_t count);

/* Return the function or variable `name` of `version`, or of its default version if that is NULL,
 * in the first object that has it; 0 = none has. A function that is chosen at run time is chosen,
 * so all objects must be relocated. */
uint64_t rtld_scope_find(
	const struct rtld_next_scope *scope, const char *name, uint32_t hash, const char *version);

/* Likewise in one object, in the default version. */
uint64_t rtld_object_find(const struct rtld_next_object *object, const char *name, uint32_t hash);

/*
 * Return the function `name` of `version`, or of its default version if `version` is NULL. Return
 * NULL if there is none, or if dlsym must decide (a function chosen at run time: STT_GNU_IFUNC).
 * Any thread, async-signal-safe.
 */
void *rtld_next_find(const struct rtld_next_scope *scope, const char *name, const char *version);

/*
 * Return the address of the function or variable `name`, in its default version, in the first
 * object from `map` on that has it; 0 = none has. For an STT_GNU_IFUNC, it calls the resolver and
 * returns its choice.
 * Uses relative addresses only, so that it also runs before this library is relocated (relocate.h).
 */
uint64_t rtld_next_find_from(const struct link_map *map, const char *name);

/* Return the address of the function or variable `name` in the first of all loaded objects that has
 * it, and its size; 0 = none has, or a function that is chosen at run time. Call when
 * rtld_next_open() may be called. */
uint64_t rtld_find_global(const char *name, uint64_t *ret_bytes);

/* Likewise in one object, which must stay loaded meanwhile. Any thread, async-signal-safe. */
uint64_t rtld_find_in(const struct link_map *map, const char *name, uint64_t *ret_bytes);

/* Return true if the object has a function of this name and version (NULL = the default one), with
 * the usual calling convention. As rtld_find_in(). */
bool rtld_has_function(const struct link_map *map, const char *name, const char *version);

#endif
