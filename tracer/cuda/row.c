/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row.c - rows of CUDA events, encoded as varints in a lane.
 */
#include "tracer/cuda/row.h"

#include "common/varint.h"
#include "tracer/core/lane.h"
#include "tracer/core/names.h"

bool cuda_row_put(struct thread *t, uint32_t event, uint64_t start_ns, uint64_t duration_ns,
	const uint64_t *values)
{
	uint8_t payload[CUDA_COLUMNS_MAX * VARINT_MAX], *p = payload, *used = payload;
	const struct cuda_column *columns = cuda_columns_of(event);
	uint32_t first = cuda_columns_first(columns), count = 0;
	for (uint32_t i = first; i <= CUDA_COLUMNS_MAX; i++) {
		bool is_signed = columns[i].encoding == CUDA_ENCODING_SIGNED;
		p = varint_put(p, is_signed ? zigzag_encode((int64_t)values[i]) : values[i]);
		if (values[i]) {
			used = p;
			count = i + 1 - first;
		}
	}
	return lane_put(t, start_ns, REC_CUDA_ROW, (uint64_t)event << 32 | count, duration_ns,
		payload, (uint64_t)(used - payload));
}

uint32_t cuda_row_hex(const uint8_t *data, uint32_t bytes)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 * 16 + 1];
	uint32_t at = 0;
	for (uint32_t i = 0; i < bytes && i < 16; i++) {
		text[at++] = digits[data[i] >> 4];
		text[at++] = digits[data[i] & 15];
	}
	text[at] = 0;
	return names_ref_of(text);
}
