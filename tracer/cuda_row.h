/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_row.h - a row of an event of schema/cuda.def on its way into a lane (REC_CUDA_ROW).
 */
#ifndef TRACER_CUDA_ROW_H
#define TRACER_CUDA_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/cupti_decode.h"
#include "tracer/thread.h"

/*
 * `values` by number of the column; texts are names already. Returns false when it was dropped,
 * which is counted. Owning thread of the lane, its busy set; no allocation, no system call but to
 * wait for room.
 */
bool cuda_row_put(struct thread *t, uint32_t event, uint64_t start_ns, uint64_t duration_ns,
	const uint64_t *values);

/* The name of a text, as rows have it; 0 = none. thread.busy set. */
uint32_t cuda_row_text(const char *text);

/* The same of `bytes` bytes in hex digits. */
uint32_t cuda_row_hex(const uint8_t *data, uint32_t bytes);

#endif
