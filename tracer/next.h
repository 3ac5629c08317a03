/* SPDX-License-Identifier: Apache-2.0 */
/*
 * next.h - finds hundreds of functions as dlsym(RTLD_NEXT) would, in a fifth of its time.
 *
 * dlsym takes locks and looks at each name as a stranger; at the start of every process of a build
 * that is the largest single cost. Here the tables of the objects behind ours (System V gABI;
 * DT_GNU_HASH as in glibc's elf/dl-lookup.c) are opened once. What is out of the ordinary is left
 * to dlsym: see next_find().
 */
#ifndef TRACER_NEXT_H
#define TRACER_NEXT_H

#include <stdbool.h>
#include <stdint.h>

struct link_map; /* of <link.h> */

#define NEXT_OBJECTS_MAX 512u

struct next_object {
	uint64_t bias;
	const uint64_t *bloom;
	const uint32_t *buckets, *chains; /* chains[i] belongs to symbol i + first_symbol */
	const void *symbols, *definitions;
	const uint16_t *versions; /* NULL = the object has none */
	const char *strings;
	uint32_t bucket_count, first_symbol, bloom_mask, bloom_shift;
};

struct next_scope {
	uint32_t count;
	struct next_object objects[NEXT_OBJECTS_MAX];
};

/*
 * Opens the objects loaded behind the one whose _DYNAMIC is given. False when there are none or
 * too many, or one has no table of the kind: then only dlsym knows, and the scope is empty. While
 * nobody loads or unloads, as in constructors at the start. What is loaded at the start stays.
 */
bool next_open(struct next_scope *scope, const void *own_dynamic);

/*
 * Any thread, async-signal-safe. The function `name` of `version`, or its default version where
 * that is NULL. NULL when there is none, or when dlsym must decide (a function chosen at run time:
 * STT_GNU_IFUNC).
 */
void *next_find(const struct next_scope *scope, const char *name, const char *version);

/*
 * The function or variable `name`, in its default version, of the first object from `map` on that
 * has it; 0 = none has. A function that is chosen at run time is chosen. Uses relative addresses
 * alone: it also runs before this library is relocated (relocate.h).
 */
uint64_t next_find_from(const struct link_map *map, const char *name);

#endif
