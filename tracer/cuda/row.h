/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row.h - a row of an event of schema/cuda.def as a record of a lane (REC_CUDA_ROW).
 */
#ifndef TRACER_CUDA_ROW_H
#define TRACER_CUDA_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/cuda/cupti_decode.h"
#include "tracer/core/thread.h"

/*
 * Write a row. `values` are indexed by number of the column; texts are names already. Return false
 * if the row was dropped; the drop is counted. Owning thread of the lane, with busy set; no
 * allocation, no system call but to wait for room.
 */
bool cuda_row_put(struct thread *t, uint32_t event, uint64_t start_ns, uint64_t duration_ns,
	const uint64_t *values);

/* Return the name of `bytes` bytes as hexadecimal digits; 0 = none. thread.busy set. */
uint32_t cuda_row_hex(const uint8_t *data, uint32_t bytes);

#endif
