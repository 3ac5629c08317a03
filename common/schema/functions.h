/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.h - names and identity of the interposed functions, the rows of libc.def in order,
 * numbered from 1.
 *
 * Used in the traced process and in the writer; constant data, no libc call: any thread,
 * async-signal-safe.
 */
#ifndef COMMON_SCHEMA_FUNCTIONS_H
#define COMMON_SCHEMA_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Return the number of rows, the unused row 0 included. */
uint32_t fn_count(void);

/* Return the name under which row `fn` is reported (its alias), or NULL beyond the table. */
const char *fn_name(uint32_t fn);

/* Return true for a lock that is reported when contended: its record carries the holder's tid in
 * the upper half of `a`. */
bool fn_is_lock(uint32_t fn);

/* Return a hash of all rows in order, stored in spools: that of another table differs. */
uint64_t fn_hash(void);

#endif
