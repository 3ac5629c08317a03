/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit.h - names of code generated at run time, from the maps written by its generator: perf maps
 * (/tmp/perf-PID.map: java, node --perf-basic-prof, python3 -X perf) and jitdump files
 * (jit-PID.dump).
 *
 * Formats: linux/tools/perf/Documentation/jit-interface.txt and jitdump-specification.txt. A file
 * is used only if it is owned by this user or root, is not a link, and, outside the symbol path,
 * was last written during the life of the process, because pids are reused. One thread; allocates;
 * reads the disk.
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
	const char *map; /* path of the file that defines it */
	uint32_t first_line, line_count;
};

/* Create the maps. `symbol_path` may be NULL. All arguments must outlive the result. Returns NULL
 * if memory is short. jit_maps_free() accepts NULL. */
struct jit_maps *jit_maps_new(
	const struct contents *contents, const char *symbol_path, struct pool *pool);
void jit_maps_free(struct jit_maps *j);

/* Return the code at `address` at time `ns`, or NULL if none is known. Reads the maps of a process
 * on its first lookup. */
const struct jit_code *jit_find(
	struct jit_maps *j, const struct process *p, uint64_t address, uint64_t ns);

/* Set the source line of an address in the code; leave `f` unchanged if it is not known. */
void jit_line(
	struct jit_maps *j, const struct jit_code *code, uint64_t address, struct symbol_frame *f);

#endif
