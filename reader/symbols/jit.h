/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit.h - names of code that was made at run time, from the maps its maker leaves: perf maps
 * (/tmp/perf-PID.map: java, node --perf-basic-prof, python3 -X perf) and jitdump files
 * (jit-PID.dump).
 *
 * Sources: linux/tools/perf/Documentation/jit-interface.txt and jitdump-specification.txt. A file
 * is used when this user or root owns it, when it is no link, and, outside the symbol path, when it
 * was last written in the life of the process: pids are used again. One thread; allocates; reads
 * the disk.
 */
#ifndef READER_SYMBOLS_JIT_H
#define READER_SYMBOLS_JIT_H

#include <stdint.h>

#include "reader/base/pool.h"
#include "reader/symbols/symbols.h"

struct jit_maps;

struct jit_code {
	uint64_t begin;
	uint64_t from_ns; /* 0 = not known */
	const char *name;
	const char *map; /* path of the file that tells it */
	uint32_t first_line, line_count;
};

/* `symbol_path` may be NULL. Both, and the pool, live longer. NULL = out of memory. jit_maps_free()
 * takes NULL. */
struct jit_maps *jit_maps_new(
	const struct contents *contents, const char *symbol_path, struct pool *pool);
void jit_maps_free(struct jit_maps *j);

/* The code at `address` at that time, or NULL: none is known. Reads the maps of a process when it
 * is first asked for. */
const struct jit_code *jit_find(
	struct jit_maps *j, const struct process *p, uint64_t address, uint64_t ns);

/* The source line of an address in the code; leaves `f` where it is not known. */
void jit_line(
	struct jit_maps *j, const struct jit_code *code, uint64_t address, struct symbol_frame *f);

#endif
