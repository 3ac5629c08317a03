/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf.h - source lines and inlined functions of one module, from its DWARF.
 *
 * libdw parses the DWARF; this file adds sorted tables of units and of their functions, which libdw
 * would search linearly for every address. Format: DWARF 5, sections 2.17, 3.3 and 6.2. Only with
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

#define INLINED_MAX 62u /* deeper ones are left out; compilers inline less deeply */

struct dwarf;

/* Create the tables. The caller keeps `dw`; texts are stored in `pool`: both must outlive the
 * result. `die_budget`: maximum number of entries that a traversal examines. Returns NULL if memory
 * is short. dwarf_free() accepts NULL. */
struct dwarf *dwarf_new(Dwarf *dw, uint64_t die_budget, struct pool *pool);
void dwarf_free(struct dwarf *d);

/*
 * Find the functions that contain `address` (an address of the DWARF), innermost inlined function
 * first, at most INLINED_MAX + 1. Returns their number, 0 if nothing is known. *ret_begin: start of
 * the outermost function. If only the line is known, *ret_begin is UINT64_MAX and the only frame
 * has no function.
 */
uint32_t dwarf_frames(
	struct dwarf *d, uint64_t address, struct symbol_frame *ret_frames, uint64_t *ret_begin);

/* Return whether this is the name of an OpenMP construct that clang, up to version 16, moved into a
 * function of its own: ".omp_outlined..2". Newer versions and gcc put the function that has the
 * construct before it. */
bool is_outlined(const char *name);

/* Return `name`, one of an outlined construct, behind that of the function that has it in its
 * source: "solve.omp_outlined.2". `address` is in the construct. Returns NULL if that is unknown.
 */
const char *dwarf_outlined(struct dwarf *d, uint64_t address, const char *name);

#endif
#endif
