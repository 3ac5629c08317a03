/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_columns.h - the columns of the events of cuda.def, for both ends of a spool: the library
 * writes rows with this table, the writer reads them.
 */
#ifndef COMMON_SCHEMA_CUDA_COLUMNS_H
#define COMMON_SCHEMA_CUDA_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUDA_COLUMNS_MAX 48u

#define EVENT(number, id, name, title) NUMBER_##id = number,
enum cuda_event_number {
	NUMBER_FIRST = 39,
#include "common/schema/cuda.def"
	NUMBER_END
};
#undef EVENT

#define GRAPH_OPERATION(number, id, name) GRAPH_OPERATION_##id = number,
enum cuda_graph_operation {
#include "common/schema/cuda.def"
};

#define MAPPING(number, id, name) MAPPING_##id = number,
enum cuda_mapping {
#include "common/schema/cuda.def"
};

/* Numbers of columns, such as COLUMN_CUDA_KERNEL_GRID_X. */
#define FIELD(event_id, number, id, column, kind, encoding, title) \
	COLUMN_##event_id##_##id = number,
enum cuda_column_number {
#include "common/schema/cuda.def"
	CUDA_COLUMN_END
};
#undef FIELD

enum cuda_column_encoding {
	CUDA_ENCODING_NONE, /* there is no such column */
	CUDA_ENCODING_DELTA,
	CUDA_ENCODING_PLAIN,
	CUDA_ENCODING_SIGNED
};

enum cuda_column_kind {
	CUDA_KIND_TIME,
	CUDA_KIND_DURATION,
	CUDA_KIND_INT,
	CUDA_KIND_UINT,
	CUDA_KIND_HEX,
	CUDA_KIND_STRING,
	CUDA_KIND_FUNCTION,
	CUDA_KIND_SYMBOL,
	CUDA_KIND_FLAGS,
	CUDA_KIND_CALLCHAIN,
	CUDA_KIND_METHOD,
	CUDA_KIND_PAYLOAD,
	CUDA_KIND_PAYLOAD_TYPE
};

struct cuda_column {
	uint8_t encoding, kind;
};

/* The columns, by number of the event minus NUMBER_FIRST, and number of the column. */
static const struct cuda_column cuda_columns[NUMBER_END - NUMBER_FIRST][CUDA_COLUMNS_MAX + 1] = {
#define FIELD(event_id, number, id, column, kind, encoding, title) \
	[NUMBER_##event_id - NUMBER_FIRST][number] = {CUDA_ENCODING_##encoding, CUDA_KIND_##kind},
#include "common/schema/cuda.def"
};
#undef FIELD

/* Return the columns of an event, or NULL if the number is not that of a CUDA event. */
static inline const struct cuda_column *cuda_columns_of(uint32_t event)
{
	return event >= NUMBER_FIRST && event < NUMBER_END &&
			cuda_columns[event - NUMBER_FIRST][1].encoding
		? cuda_columns[event - NUMBER_FIRST]
		: NULL;
}

/* Return the first column of a REC_CUDA_ROW's payload. */
static inline uint32_t cuda_columns_first(const struct cuda_column *columns)
{
	return columns[2].kind == CUDA_KIND_DURATION && columns[2].encoding ? 3 : 2;
}

/* Return true if the value of this column is the id of a text. */
static inline bool cuda_column_is_text(const struct cuda_column *column)
{
	return column->kind == CUDA_KIND_STRING || column->kind == CUDA_KIND_FUNCTION ||
		column->kind == CUDA_KIND_SYMBOL;
}

#endif
