/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writes.h - events of what programs write to standard output and error.
 *
 * One thread.
 */
#ifndef WRITER_STREAMS_WRITES_H
#define WRITER_STREAMS_WRITES_H

#include "writer/lane/segment.h"

/* Process a REC_STREAM (lane/segment.h): add its row, with stars in place of secrets. */
record_put stream_put;

#endif
