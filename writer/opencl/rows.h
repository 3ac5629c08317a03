/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - rows from the records of the OpenCL source (common/opencl_spool.h).
 *
 * record_put of lane/segment.h.
 */
#ifndef WRITER_OPENCL_ROWS_H
#define WRITER_OPENCL_ROWS_H

#include "writer/lane/segment.h"

/* Add a command of a queue, with its times converted to the clock of the report. */
uint32_t opencl_command_put(struct segment *s, const struct record_at *at);

#endif
