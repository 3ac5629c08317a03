/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.h - rows of one event kind and one thread, by column, and their encoding as a report entry.
 *
 * Rows are filled in place (column[f][row] is field number f + 1), then encoded once: a column that
 * is 0 in every row is left out, one value for all rows is a constant, every other column is
 * encoded as events.def specifies. The bytes are those that protobuf-c would produce for an Entry
 * (checked by a unit test). One thread; nothing allocates or fails.
 */
#ifndef WRITER_REPORT_BATCH_H
#define WRITER_REPORT_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BATCH_ROWS                                                                               \
	2048u /* rows of one chunk of a spool: the columns fit in the L2 cache, and the 60 bytes \
		 of header are negligible */
#define BATCH_COLUMNS 48u /* columns of the event with the most columns; most have few */

#define EVENT(number, id, name, title) EVENT_##id = number,
enum event_kind {
#include "common/schema/events.def"
	EVENT_KINDS
};
#define FIELD(event_id, number, id, column, kind, encoding, title) event_id##_##id = number - 1,
enum event_column {
#include "common/schema/events.def"
};

struct batch {
	uint32_t kind;    /* enum event_kind */
	uint32_t process; /* Process.id */
	uint32_t tid;
	uint32_t count;
	uint64_t same; /* bit i: every row of column i is value[i], and the column is not stored */
	uint64_t value[BATCH_COLUMNS];
	/* Only as many columns as the kind has: batch_bytes(kind) returns the memory that is
	 * needed. */
	uint64_t column[BATCH_COLUMNS][BATCH_ROWS];
};

/* Return the number of columns of a kind of event, 0 = unknown kind; and the bytes of memory that
 * its batch needs. */
uint32_t batch_columns(uint32_t kind);
size_t batch_bytes(uint32_t kind);

/* Maximum size of an encoded batch. */
#define BATCH_BYTES_MAX (BATCH_COLUMNS * (BATCH_ROWS * 10u + 32u) + 128u)

/* Maximum encoded size of the rows of one chunk, in the worst case of one row per batch. */
#define CHUNK_ENCODED_BYTES_MAX (BATCH_ROWS * (BATCH_COLUMNS * 16u + 64u))

/* Return how many more rows fit. A full batch must be encoded first. */
static inline uint32_t batch_room(const struct batch *b)
{
	return b->count < BATCH_ROWS ? BATCH_ROWS - b->count : 0;
}

/*
 * Add `count` rows, at most batch_room(), column by column: batch_same() gives all of them one
 * value; batch_rows() returns the array in which the caller stores one value per row. Call
 * batch_rows_added() when every column is set.
 */
void batch_same(struct batch *b, uint32_t column, uint64_t value, uint32_t count);
uint64_t *batch_rows(struct batch *b, uint32_t column);
void batch_rows_added(struct batch *b, uint32_t count);

/* Add a row at time `ns`, all other columns 0. Return false, and change nothing, if the batch is
 * full. */
bool batch_row_add(struct batch *b, uint64_t ns) __attribute__((warn_unused_result));

/* Set a column of the last row. Does nothing if the kind has no such column. */
void batch_set(struct batch *b, uint32_t column, uint64_t value);

/* Encode the entry, with its u32 size before it, to `out`, which has room for BATCH_BYTES_MAX.
 * Return the number of bytes used. */
size_t batch_encode(const struct batch *b, uint8_t *out);

#endif
