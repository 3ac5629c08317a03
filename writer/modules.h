/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.h - which file an address of a process was in, for the callchains of results.
 *
 * Modules are noted as their rows come by, and forgotten with the spool. One thread; allocates.
 * Where memory is short a module is not known.
 */
#ifndef WRITER_MODULES_H
#define WRITER_MODULES_H

#include <stdint.h>

struct spool;

struct module_range {
	uint64_t tick;       /* of the spool: from when on it is there */
	uint64_t begin, end; /* addresses */
};

/* An allocated copy in UTF-8 of text in a spool, which its process may change at any moment. NULL
 * without memory. */
char *shared_text_copy(const char *text, uint32_t bytes);

void modules_note_load(struct spool *spool, const struct module_range *range, const char *path,
	uint32_t path_bytes);
void modules_note_unload(struct spool *spool, uint64_t begin, uint64_t tick);

/* Path of the file that the address was in at that time, in UTF-8; "" = not known. Valid as long as
 * the spool. */
const char *modules_path(const struct spool *spool, uint64_t address, uint64_t tick);

#endif
