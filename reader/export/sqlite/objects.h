/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.h - names of locks, conditions, semaphores and barriers that are variables of a program or
 * library: rows of LIBTRACE_OBJECT. The same address in two runs is another one; the names are not.
 *
 * Memory: about 40 bytes for each of them in the current report. One thread; allocates; reads the
 * files of modules.
 */
#ifndef READER_EXPORT_SQLITE_OBJECTS_H
#define READER_EXPORT_SQLITE_OBJECTS_H

#include <stdint.h>

#include "reader/export/sqlite/decoded.h"

struct sqlite_export;

/* Create the table. Returns 0 or a negative errno. */
int objects_begin(struct sqlite_export *x);

/* Add the name of the object that a call at `ns` used, unless it is known or in no module. Returns
 * 0 or a negative errno. */
int object_note(
	struct sqlite_export *x, const struct decoded_batch *b, uint64_t address, uint64_t ns);

#endif
