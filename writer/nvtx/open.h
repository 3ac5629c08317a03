/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.h - NVTX ranges that a dead process left open.
 */
#ifndef WRITER_NVTX_OPEN_H
#define WRITER_NVTX_OPEN_H

#include "writer/lane/ending.h"

/* Add a row for each range that is open on the lane (lane/ending.h): pushed ranges, and ranges that
 * a thread of the lane started. Also add the ranges to the launches that they contain. */
lane_end_put nvtx_open_put;

#endif
