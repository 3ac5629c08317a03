/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.h - lookup of the file that an address of a process was in, for the callchains of
 * results.
 *
 * Modules are recorded as their rows are added, and freed with the spool. One thread; allocates. If
 * memory is short, a module is not known.
 */
#ifndef WRITER_LANE_MODULES_H
#define WRITER_LANE_MODULES_H

#include "writer/lane/segment.h"

struct module_range {
	uint64_t tick;       /* tick of the spool at which it was mapped */
	uint64_t begin, end; /* addresses */
};

/* Process records of modules that were loaded and unloaded (lane/segment.h): add their rows, and
 * record them here. */
record_put module_load_put, module_unload_put;

/* Copy text of a spool, which its process may change at any moment, as UTF-8. The caller frees the
 * copy. Return NULL if memory is short. */
char *shared_text_copy(const char *text, uint32_t bytes);

/* Return the path of the file that contained the address at that tick, in UTF-8; "" = not known.
 * Valid until the spool is freed. */
const char *modules_path(const struct spool *spool, uint64_t address, uint64_t tick);

#endif
