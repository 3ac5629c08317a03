/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osrt_calls.h - OS runtime calls as rows of OSRT_API and LIBTRACE_OSRT_CALL.
 *
 * Most events of a report are such calls, so they bypass nsys_rows.def for speed.
 *
 * One thread; allocates.
 */
#ifndef READER_EXPORT_SQLITE_OSRT_CALLS_H
#define READER_EXPORT_SQLITE_OSRT_CALLS_H

#include "reader/export/sqlite/decoded.h"

struct sqlite_export;

/* Create LIBTRACE_OBJECT, the names of locks and other objects that threads wait for which are
 * variables of a module: their addresses differ between runs. Returns 0 or a negative errno. */
int osrt_calls_begin(struct sqlite_export *x);

/* Add the rows of a batch of calls. Returns 0 or a negative errno. */
int osrt_calls_rows(struct sqlite_export *x, const struct decoded_batch *b);

#endif
