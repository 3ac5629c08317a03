/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binary.h - a program or library on disk, and the names of the functions in it.
 *
 * The file is searched by path and build-id: below each folder of the symbol path (under
 * .build-id/xx/yyyy.debug, by the whole path, by the last part of it), at the path itself, in
 * /usr/lib/debug, and by debuginfod where DEBUGINFOD_URLS is set. A file with another build-id than
 * the one recorded is not used. Names come from the symbol tables, lines and inlined functions from
 * DWARF, in the file or apart from it (.gnu_debuglink, build-id). Built without libdw nothing can
 * be opened, and the reason says so.
 *
 * One thread; allocates; reads the disk, and the network where debuginfod is on.
 */
#ifndef READER_SYMBOLS_BINARY_H
#define READER_SYMBOLS_BINARY_H

#include <stdint.h>

#include "reader/base/pool.h"
#include "reader/symbols/symbols.h"

#define BINARY_FRAMES_MAX 64u

struct binary;

/*
 * `build_id`: hex digits, empty where the program had none. `symbol_path`: folders separated by
 * colons, or NULL. `pool` keeps the texts and lives longer than the result. NULL: not found, and
 * *ret_reason (of the pool, or NULL when memory is short) says why. binary_close() takes NULL.
 */
struct binary *binary_open(const char *path, const char *build_id, const char *symbol_path,
	struct pool *pool, const char **ret_reason);
void binary_close(struct binary *b);

/*
 * The functions at `address` (of the file's program headers), innermost inlined first. Returns
 * their number, at most BINARY_FRAMES_MAX; 0 where there is none, with the reason. *ret_offset:
 * from the begin of the outermost one. A line may be known where no function is: one frame without
 * a function, its offset UINT64_MAX.
 */
uint32_t binary_frames(struct binary *b, uint64_t address, struct symbol_frame *ret_frames,
	uint64_t *ret_offset, const char **ret_reason);

#endif
