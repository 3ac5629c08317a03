/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runs.h - conversion of NVTX marks and ranges to columns: the hot path of the writer.
 *
 * Consecutive records of one kind, all with attributes or all without, are converted to rows
 * together. One thread.
 */
#ifndef WRITER_NVTX_RUNS_H
#define WRITER_NVTX_RUNS_H

#include "writer/lane/segment.h"

/* Add the rows of the mark or range at s->at, and of similar records that follow it
 * (lane/segment.h). */
record_put nvtx_run_put;

#endif
