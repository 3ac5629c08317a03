/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_rows.h - records that hold the columns of a row as they are
 * (REC_ROW, REC_PAST_ROW), of any source.
 *
 * record_put of lane/segment.h.
 */
#ifndef WRITER_LANE_PLAIN_ROWS_H
#define WRITER_LANE_PLAIN_ROWS_H

#include "writer/lane/segment.h"

/* Add a row of one of the events that may be recorded in this way. */
uint32_t plain_row_put(struct segment *s, const struct record_at *at);

#endif
