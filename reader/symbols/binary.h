/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binary.h - program or library on disk, and the names of its functions.
 *
 * The file is searched for by path and build-id: below each folder of the symbol path (under
 * .build-id/xx/yyyy.debug, by the whole path, by the last component of the path), at the path
 * itself, in /usr/lib/debug, and by debuginfod if DEBUGINFOD_URLS is set. A file whose build-id
 * differs from the recorded one is not used. Names are read from the symbol tables; lines and
 * inlined functions from DWARF, in the file or in a separate one (.gnu_debuglink, build-id). A
 * build without libdw cannot open any file, and reports that as the reason.
 *
 * One thread; allocates; reads the disk, and the network if debuginfod is enabled.
 */
#ifndef READER_SYMBOLS_BINARY_H
#define READER_SYMBOLS_BINARY_H

#include <stdint.h>

#include "reader/base/pool.h"
#include "reader/symbols/symbols.h"

#define BINARY_FRAMES_MAX 64u

struct binary;

/*
 * Open a binary. `build_id`: hex digits, empty if the program had none. `symbol_path`: folders
 * separated by colons, or NULL. `pool` stores the texts and must outlive the result. Returns NULL
 * if no file is found, with the cause in *ret_reason (in the pool; NULL if memory is short).
 * binary_close() accepts NULL.
 */
struct binary *binary_open(const char *path, const char *build_id, const char *symbol_path,
	struct pool *pool, const char **ret_reason);
void binary_close(struct binary *b);

/*
 * Find the functions at `address` (a virtual address of the ELF file), innermost
 * inlined function first. Returns their number, at most BINARY_FRAMES_MAX; 0, with the reason, if
 * there is none. *ret_offset: offset from the start of the outermost function. If only the line is
 * known, returns one frame without a function, with offset UINT64_MAX.
 */
uint32_t binary_frames(struct binary *b, uint64_t address, struct symbol_frame *ret_frames,
	uint64_t *ret_offset, const char **ret_reason);

/* Find the variable at `address` by the symbol tables. Returns its name, demangled, in the pool;
 * NULL if there is none. *ret_offset: offset from its start. */
const char *binary_variable(struct binary *b, uint64_t address, uint64_t *ret_offset);

#endif
