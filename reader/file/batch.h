/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.h - batch of events as stored in a block: columns are located first and decoded on demand.
 *
 * A batch points into the memory of its block and is valid while the block stays loaded. Allocates
 * nothing; any thread.
 */
#ifndef READER_FILE_BATCH_H
#define READER_FILE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BATCH_ROWS_MAX \
	65536u /* writers use 2,048; bounds the memory that a hostile count can claim */
#define BATCH_COLUMNS_MAX 64u
/* Column of a converted file: which values of the row its source has not, a bit for each index in
 * schema_event.fields. They are 0, and must not be shown. */
#define BATCH_UNKNOWN 1000u

enum column_form { COLUMN_CONSTANT, COLUMN_VALUES, COLUMN_DELTAS, COLUMN_SIGNED };

struct column {
	uint32_t field;
	enum column_form form;
	int64_t constant;
	const uint8_t *at, *end;
};

/* Selection of rows of a batch; readers do not see the other rows. */
struct batch_choice {
	const uint8_t *keep; /* one per row: 0 = left out */
	uint32_t rows;       /* rows of the stored batch */
	int64_t *scratch;    /* buffer for `rows` values */
};

struct event_batch {
	uint32_t kind, process, tid, count;
	const struct batch_choice *choice; /* NULL = all rows */
	uint32_t column_count;
	struct column columns[BATCH_COLUMNS_MAX];
};

/* Locate the parts of an EventBatch message. Returns 0, or -EBADMSG with the cause in
 * *ret_cause. */
int event_batch_parse(
	struct event_batch *b, const uint8_t *data, const uint8_t *end, const char **ret_cause);

/* Decode a column into ret_values[b->count]; an absent column is all 0. Unsigned values are
 * returned as their bits. Returns 0 or -EBADMSG. */
int event_batch_column(const struct event_batch *b, uint32_t field, int64_t *ret_values);

/* Decode columns one after another into ret_values[count * b->count]. Returns 0 or -EBADMSG. */
int event_batch_columns(
	const struct event_batch *b, const uint32_t *fields, uint32_t count, int64_t *ret_values);

/* Likewise into a new array, which the caller frees: *ret_values, NULL on failure. Returns 0,
 * -ENOMEM or -EBADMSG. */
int event_batch_columns_new(
	const struct event_batch *b, const uint32_t *fields, uint32_t count, int64_t **ret_values);

#endif
