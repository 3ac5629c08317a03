/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decoded.h - a batch of events with decoded columns, its process and its thread.
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

/* Buffer for the columns of the current batch. */
struct batch_decoder {
	int64_t *columns;
	size_t values;
};

struct decoded_batch {
	const struct event_batch *batch;
	const struct schema_event *event;
	struct process *process; /* NULL = not in the report */
	int64_t global_tid;
	uint64_t unknown; /* fields without a value in a converted file (struct report) */
	const uint64_t *unknown_rows;                     /* those of each row; NULL = none */
	const int64_t *columns[SCHEMA_FIELDS];            /* indexed by field of the schema */
	const int64_t *flags, *chain, *method, *duration; /* columns of these kinds; NULL = the
							   * event has none */
};

/* Find the process and the thread of a batch and decode its columns, which are valid until the next
 * call. Returns 0, -ENOMEM, or -EBADMSG if the rows do not match the schema, which the first pass
 * has reported. */
int batch_decode(
	struct sqlite_export *x, const struct event_batch *batch, struct decoded_batch *ret_batch);

/* Return whether a field of a row has no value, by its index in the schema. */
static inline bool decoded_is_unknown(const struct decoded_batch *b, uint32_t row, uint32_t field)
{
	return (b->unknown | (b->unknown_rows ? b->unknown_rows[row] : 0)) >> field & 1;
}

/* Return the values of a field; NULL = the event has no such field. */
const int64_t *decoded_column(const struct decoded_batch *b, uint32_t field);

/* Return true if the values of a field are string ids. */
bool field_is_text(const struct schema_field *f);

#endif
