/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.h - a batch of events as it lies in a block: the columns are found first and decoded only
 * where somebody wants them.
 *
 * A batch points into the memory of its block and lives as long as the block stays loaded. Nothing
 * allocates; any thread.
 */
#ifndef READER_FILE_BATCH_H
#define READER_FILE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BATCH_ROWS_MAX \
	65536u /* writers use 2,048; bounds what a hostile count can make a reader hold */
#define BATCH_COLUMNS_MAX 64u

enum column_form { COLUMN_CONSTANT, COLUMN_VALUES, COLUMN_DELTAS, COLUMN_SIGNED };

struct column {
	uint32_t field;
	enum column_form form;
	int64_t constant;
	const uint8_t *at, *end;
};

/* Some rows of a batch; the others are as if they were not there. */
struct batch_choice {
	const uint8_t *keep; /* one per row: 0 = left out */
	uint32_t rows;       /* of the batch as it is stored */
	int64_t *scratch;    /* room for as many values */
};

struct event_batch {
	uint32_t kind, process, tid, count;
	const struct batch_choice *choice; /* NULL = all rows */
	uint32_t column_count;
	struct column columns[BATCH_COLUMNS_MAX];
};

/* Finds the parts of an EventBatch message. 0, or -EBADMSG with the cause in *ret_cause. */
int event_batch_parse(
	struct event_batch *b, const uint8_t *data, const uint8_t *end, const char **ret_cause);

/* Decodes a column into out[b->count]; an absent one is all 0. Unsigned values come as their bits.
 * 0 or -EBADMSG. */
int event_batch_column(const struct event_batch *b, uint32_t field, int64_t *ret_values);

#endif
