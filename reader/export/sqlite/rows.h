/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - batches of events as rows of all tables that take them.
 *
 * One thread; allocates.
 */
#ifndef READER_EXPORT_SQLITE_ROWS_H
#define READER_EXPORT_SQLITE_ROWS_H

#include "reader/file/batch.h"

struct sqlite_export;

/* Find the kinds of events that the job leaves out, after nsys_rows_begin(). */
void rows_begin(struct sqlite_export *x);

/* Add the rows of a batch; a batch that does not match the schema adds none. Returns 0, or a
 * negative errno that ends the pass. */
int batch_rows(struct sqlite_export *x, const struct event_batch *batch);

#endif
