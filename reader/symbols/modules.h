/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.h - module map of one process: the files that were mapped, with their addresses and
 * times, from the MODULE_LOAD and MODULE_UNLOAD rows of a report.
 *
 * Rows are added in any order; the first lookup sorts them, and none may be added after it. Several
 * files may have used an address one after the other. module_map_release() at the end. One thread;
 * adding allocates, lookups sort once and do not allocate.
 */
#ifndef READER_SYMBOLS_MODULES_H
#define READER_SYMBOLS_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/file/batch.h"

/* Limit for all processes of a report together: bounds the memory that a few bytes of a hostile
 * file can make a reader allocate. A program that opens and closes plug-ins all night has some
 * 100,000. */
#define MODULES_MAX (1u << 20)

struct module {
	uint64_t begin, end; /* addresses */
	uint64_t bias;       /* address in the process minus address in the file */
	uint64_t from_ns, until_ns;
	uint64_t reach;          /* greatest end of this and all previous modules */
	uint32_t path, build_id; /* Strings ids */
};

/* All zero = empty. */
struct module_map {
	struct module *modules; /* sorted by begin, then from_ns, when `sorted` */
	uint32_t count, capacity;
	struct module_end {
		uint64_t begin, ns;
	} * ends;
	uint32_t end_count, end_capacity;
	bool sorted;
	bool reused; /* two modules shared an address: lookups depend on the time */
};

/* Free all modules and leave the map empty. */
void module_map_release(struct module_map *m);

/* Add the rows of a MODULE_LOAD or MODULE_UNLOAD batch. *room counts down from MODULES_MAX. Returns
 * 0, -ENOMEM, or -EBADMSG with the cause. */
int module_map_add(
	struct module_map *m, const struct event_batch *b, uint32_t *room, const char **ret_cause);

/*
 * Return the module mapped at `address` at time `ns`; if there was none, the first one mapped there
 * later, because a call can begin before the file it returns to was recorded. Returns NULL if there
 * is none.
 */
const struct module *module_map_find(struct module_map *m, uint64_t address, uint64_t ns);

/* Iterate over all modules that were ever mapped at `address`: pass `after` NULL first, then the
 * module returned. NULL = no more. */
const struct module *module_map_each(
	struct module_map *m, uint64_t address, const struct module *after);

/* Sort the map. Returns true if lookups depend on the time. */
bool module_map_is_reused(struct module_map *m);

#endif
