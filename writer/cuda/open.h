/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.h - open CUDA calls and CUDA counts of a dead process.
 */
#ifndef WRITER_CUDA_OPEN_H
#define WRITER_CUDA_OPEN_H

#include <stdint.h>

#include "writer/lane/ending.h"

/* Add a row for the API call that is open on the lane. For the device lane, also add the calls that
 * were only counted, and the receipt of the source (lane/ending.h). */
lane_end_put cuda_open_put;

/* Return the number of rows that the source counted as stored but that are not in its lane. */
uint64_t cuda_unaccounted(struct spool *spool);

#endif
