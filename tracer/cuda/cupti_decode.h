/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_decode.h - decoding of CUPTI's activity records into the columns of an event of
 * schema/cuda.def.
 *
 * Reads a record of any version in place: fields after its end are 0. No state, no allocation, no
 * libc; any thread.
 */
#ifndef TRACER_CUDA_CUPTI_DECODE_H
#define TRACER_CUDA_CUPTI_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/schema/cuda_columns.h"

enum cupti_timing {
	CUPTI_HAS_NO_TIME, /* the record has no time */
	CUPTI_IS_MOMENT,   /* `end` is `start` */
	CUPTI_IS_SPAN
};

struct cupti_row {
	uint32_t event;
	enum cupti_timing timing;
	uint64_t start, end;                  /* times as stored in the record */
	uint64_t texts;                       /* bit n: column n is a text (its address) */
	uint32_t correlation;                 /* 0 = none */
	uint64_t value[CUDA_COLUMNS_MAX + 1]; /* by number of the column, without the times */
};

/* Return the bytes of a record of this kind in this version of CUPTI, at most `distance`, the bytes
 * known to be present. */
size_t cupti_record_bytes(uint32_t kind, uint32_t version, size_t distance);

/* Decode a record. Return false for an unknown kind, or a record too short to be one. */
bool cupti_decode(const void *record, size_t bytes, struct cupti_row *ret_row);

#endif
