/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope.h - what an entry of a module's tables leads to that is not bound yet.
 *
 * The loader binds an entry in the global scope, which begins with the program and the libraries
 * that were loaded with it, in the order of its list of modules; then among the libraries that were
 * loaded together with the module. The first part is searched here, in a fraction of the time that
 * the loader takes; what is not found there is left to dlsym(). The loader's lock is held.
 */
#ifndef TRACER_FUNCTIONS_SCOPE_H
#define TRACER_FUNCTIONS_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/base/rtld_next.h"

struct link_map; /* declared in <link.h> */

#define NEEDED_MAX 256u

/* Loaded modules, by how they are searched. */
struct function_scope {
	struct rtld_next_scope first;  /* the program, and what was loaded with it */
	struct rtld_next_scope wanted; /* modules that a pattern matches, if they are few */
	struct rtld_next_scope later;  /* modules that were loaded since; empty = not looked up */
	const struct link_map *last;   /* the last module of `first` */
	/* The first of these, and the modules of `later` that it needs; 0 = not looked up. */
	const struct link_map *needed[NEEDED_MAX];
	uint32_t needed_count;
	bool wanted_found;  /* `wanted` is up to date */
	bool wanted_is_all; /* `wanted` has too many: it excludes nothing */
	bool is_usual;      /* all modules of `first` are in it */
};

/* Note the modules that are loaded. Once, before the program loads any. */
void function_scope_open(void);

/* Note that modules may have been loaded or unloaded since the last lookup. */
void function_scope_changed(void);

/* Note that a library is about to be loaded with RTLD_DEEPBIND, which is searched before the global
 * scope. Any thread. */
void function_scope_deep(void);

/* Return true if no library that a pattern matches is loaded. */
bool function_scope_wants_none(void);

/* Load what lookups of these names will read into the processor's cache: rtld_scope_prefetch(). */
void function_scope_prefetch(const uint32_t *hashes, uint32_t count);

/* Return true if the module was loaded with the program. */
bool function_scope_is_first(const struct link_map *map);

/* Return true if `other` stays loaded at least as long as the module does, because it was loaded
 * with the program, or because the module needs it, or one that it needs. */
bool function_scope_keeps(const struct link_map *map, const struct link_map *other);

/* Return the function that the program, or a library that was loaded with it, has; 0 = none, or it
 * is not known. */
uint64_t function_scope_first(const char *name, const char *version);

/*
 * Return the function that an entry of a module leads to once it is bound; 0 = there is none, none
 * in a library that a pattern matches, or it is not known (*ret_unknown). `is_first` is that of the
 * module.
 */
uint64_t function_scope_find(
	const char *name, const char *version, bool is_first, bool *ret_unknown);

#endif
