/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf.h - source lines and inlined functions of one module, from its DWARF.
 *
 * libdw does the reading; what it would search from the start for every address (units, functions
 * of a unit) is kept sorted here. Source: DWARF 5, sections 2.17, 3.3 and 6.2. Only with
 * HAVE_LIBDW. One thread; allocates.
 */
#ifndef READER_SYMBOLS_DWARF_H
#define READER_SYMBOLS_DWARF_H

#ifdef HAVE_LIBDW

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "reader/base/pool.h"
#include "reader/symbols/symbols.h"

#define INLINED_MAX 62u /* deeper ones are left out; compilers stop before */

struct dwarf;

/* `dw` stays the caller's, and texts go to `pool`: both live longer than the result. `die_budget`:
 * no traversal looks at more entries. NULL = out of memory. dwarf_free() takes NULL. */
struct dwarf *dwarf_new(Dwarf *dw, uint64_t die_budget, struct pool *pool);
void dwarf_free(struct dwarf *d);

/*
 * The functions that `address` (of the DWARF) is in, innermost inlined one first, at most
 * INLINED_MAX + 1. Returns their number, 0 where nothing is known. *ret_begin: where the outermost
 * of them begins; where only the line is known, UINT64_MAX, and one frame has no function.
 */
uint32_t dwarf_frames(
	struct dwarf *d, uint64_t address, struct symbol_frame *ret_frames, uint64_t *ret_begin);

#endif
#endif
