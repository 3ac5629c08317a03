/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.h - columns that both kinds of NVTX ranges have, for readers of both.
 *
 * No state; any thread.
 */
#ifndef READER_NVTX_COLUMNS_H
#define READER_NVTX_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/file/batch.h"
#include "reader/file/schema.h"

enum nvtx_column {
	NVTX_COLUMN_START,
	NVTX_COLUMN_DURATION,
	NVTX_COLUMN_DOMAIN,
	NVTX_COLUMN_TEXT,
	NVTX_COLUMN_FLAGS,
	NVTX_COLUMN_LEVEL, /* level of push/pop ranges; undefined for start/end ranges */
	NVTX_COLUMNS
};

/* Decode a batch of NVTX_RANGE or NVTX_START_END into `room`, a buffer for NVTX_COLUMNS *
 * BATCH_ROWS_MAX values. Returns false if the batch is damaged. */
static inline bool nvtx_columns_decode(
	const struct event_batch *b, int64_t *room, int64_t **ret_column)
{
	static const uint32_t push_pop[NVTX_COLUMNS] = {FIELD_NVTX_RANGE_START,
		FIELD_NVTX_RANGE_DURATION, FIELD_NVTX_RANGE_DOMAIN, FIELD_NVTX_RANGE_TEXT,
		FIELD_NVTX_RANGE_FLAGS, FIELD_NVTX_RANGE_LEVEL};
	static const uint32_t start_end[NVTX_COLUMNS] = {FIELD_NVTX_START_END_START,
		FIELD_NVTX_START_END_DURATION, FIELD_NVTX_START_END_DOMAIN,
		FIELD_NVTX_START_END_TEXT, FIELD_NVTX_START_END_FLAGS, FIELD_NVTX_START_END_FLAGS};
	const uint32_t *fields = b->kind == KIND_NVTX_RANGE ? push_pop : start_end;
	for (uint32_t i = 0; i < NVTX_COLUMNS; i++) {
		ret_column[i] = room + (size_t)i * BATCH_ROWS_MAX;
		if (event_batch_column(b, fields[i], ret_column[i]))
			return false;
	}
	return true;
}

#endif
