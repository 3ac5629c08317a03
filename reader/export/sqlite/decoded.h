/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decoded.h - a batch of events with its columns decoded, and whose it is.
 *
 * Memory: one column of 64-bit values for each field of the widest batch. One thread; allocates.
 */
#ifndef READER_EXPORT_SQLITE_DECODED_H
#define READER_EXPORT_SQLITE_DECODED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/file/batch.h"
#include "reader/report/processes.h"
#include "reader/file/schema.h"

struct sqlite_export;

/* Room for the columns of the batch at hand. */
struct batch_decoder {
	int64_t *columns;
	size_t values;
};

struct decoded_batch {
	const struct event_batch *batch;
	const struct schema_event *event;
	struct process *process; /* NULL = the report has no such process */
	int64_t global_tid;
	const int64_t *columns[SCHEMA_FIELDS];            /* by index in the schema */
	const int64_t *flags, *chain, *method, *duration; /* of those; NULL = not in this kind */
};

/* Find the process and the thread of a batch and decode its columns, which live until the next
 * call. Returns 0, -ENOMEM, or -EBADMSG where the rows do not match the schema; the first pass has
 * reported that. */
int batch_decode(
	struct sqlite_export *x, const struct event_batch *batch, struct decoded_batch *ret_batch);

/* Return the values of a field; NULL = the kind has no such field. */
const int64_t *decoded_column(const struct decoded_batch *b, uint32_t field);

/* Return whether the values of a field are ids of strings. */
bool field_is_text(const struct schema_field *f);

#endif
