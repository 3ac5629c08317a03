/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - conversion of records of the CUDA source to rows: API calls, and operations of devices.
 *
 * Device rows are already stored as columns (common/cuda/cuda_spool.h). Names become string ids,
 * and each operation is compared with the API call that caused it, which must have begun before
 * the operation. One thread; allocates: if memory is short, an operation is not compared.
 */
#ifndef WRITER_CUDA_ROWS_H
#define WRITER_CUDA_ROWS_H

#include <stdint.h>

#include "common/cuda/cuda_spool.h"
#include "writer/lane/segment.h"

/* Number of device operations whose API call is known, and of those that began before it. */
struct cuda_causality {
	uint64_t checked, too_early, worst_early_ns;
};

/* Add the rows of a REC_CUDA_API or REC_CUDA_ROW record (lane/segment.h). */
record_put cuda_call_put, cuda_row_put;

/* Fill the columns of an API call, except start and duration. `name` is a string id. */
void cuda_call_fill(struct batch *b, uint32_t name, const struct cuda_call *call,
	uint32_t correlation, int32_t result);

/* Return the counts of a process; all 0 if it had no operations. */
struct cuda_causality cuda_causality_of(const struct spool *spool);

#endif
