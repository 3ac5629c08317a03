/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.h - rows of one event kind and one thread, by column, and their encoding as a report entry.
 *
 * Rows are filled in place (column[f][row] is field number f + 1), then encoded once: a column that
 * is 0 in every row is left out, one value for all rows is a constant, everything else goes as
 * events.def says. The bytes are those that protobuf-c would make of an Entry (a unit test holds
 * this). One thread; nothing allocates or fails.
 */
#ifndef WRITER_BATCH_H
#define WRITER_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BATCH_ROWS                                                                             \
	2048u /* one chunk of a spool: columns stay in the second-level cache, and 60 bytes of \
		 heading are nothing */
#define BATCH_COLUMNS 48u /* of the event with most of them; most have few */

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
	/* As many as the kind has: batch_bytes(kind) are enough for the whole. */
	uint64_t column[BATCH_COLUMNS][BATCH_ROWS];
};

/* Columns of a kind of event, 0 = there is no such kind; and what its batch needs of memory. */
uint32_t batch_columns(uint32_t kind);
size_t batch_bytes(uint32_t kind);

#define BATCH_BYTES_MAX (BATCH_COLUMNS * (BATCH_ROWS * 10u + 32u) + 128u)

/* At most what the rows of one chunk become, in as many batches as there are rows. */
#define CHUNK_ENCODED_BYTES_MAX (BATCH_ROWS * (BATCH_COLUMNS * 16u + 64u))

/* How many more rows fit: a full batch has to be encoded first. */
static inline uint32_t batch_room(const struct batch *b)
{
	return b->count < BATCH_ROWS ? BATCH_ROWS - b->count : 0;
}

/*
 * Rows are added column by column: the `count` rows from b->count on, at most batch_room(), get one
 * `value`, or the caller stores theirs where batch_rows() points. Then batch_rows_added().
 */
void batch_same(struct batch *b, uint32_t column, uint64_t value, uint32_t count);
uint64_t *batch_rows(struct batch *b, uint32_t column);
void batch_rows_added(struct batch *b, uint32_t count);

/* Add a row, all columns 0 but the time. Returns false, and changes nothing, where the batch is
 * full. */
bool batch_row_add(struct batch *b, uint64_t ns) __attribute__((warn_unused_result));

/* Set a column of the last row; nothing where the kind has no such column. */
void batch_set(struct batch *b, uint32_t column, uint64_t value);

/* Writes the entry with its u32 size in front to `out`, which has room for BATCH_BYTES_MAX. Returns
 * the bytes used. */
size_t batch_encode(const struct batch *b, uint8_t *out);

#endif
