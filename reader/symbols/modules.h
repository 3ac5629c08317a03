/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.h - which file lay where in one process, and when: from the MODULE_LOAD and MODULE_UNLOAD
 * rows of a report.
 *
 * Rows come in any order; the first lookup sorts them, and no rows are added behind it. Several
 * files may have used an address one after the other. module_map_release() at the end. One thread;
 * adding allocates, lookups sort once and do not allocate.
 */
#ifndef READER_SYMBOLS_MODULES_H
#define READER_SYMBOLS_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/file/batch.h"

/* Of all processes of a report together: what a few bytes of a hostile file can make us hold. A
 * program that opens and closes plug-ins all night has some 100,000. */
#define MODULES_MAX (1u << 20)

struct module {
	uint64_t begin, end; /* addresses */
	uint64_t bias;       /* address in the process less address in the file */
	uint64_t from_ns, until_ns;
	uint64_t reach;          /* greatest end of this and all modules before it */
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
	bool reused; /* two modules had an address in common: the time of a lookup matters */
};

void module_map_release(struct module_map *m);

/* Takes the rows of a MODULE_LOAD or MODULE_UNLOAD batch in. *room counts down from MODULES_MAX.
 * 0, -ENOMEM, or -EBADMSG with the cause. */
int module_map_add(
	struct module_map *m, const struct event_batch *b, uint32_t *room, const char **ret_cause);

/*
 * The module that held `address` at `ns`; where none did, the first one that did later: a call can
 * begin before the file it returns to was seen. NULL = none.
 */
const struct module *module_map_find(struct module_map *m, uint64_t address, uint64_t ns);

/* The modules that ever held `address`: begin with `after` NULL, go on with the one returned. NULL
 * = no more. */
const struct module *module_map_each(
	struct module_map *m, uint64_t address, const struct module *after);

/* Sorts, and says whether the time of lookups matters. */
bool module_map_is_reused(struct module_map *m);

#endif
