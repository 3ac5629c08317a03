/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gaps.h - rows for events that were dropped: one row of GAP for consecutive events.
 *
 * For the contracts, see lane/segment.h and lane/ending.h.
 */
#ifndef WRITER_LANE_GAPS_H
#define WRITER_LANE_GAPS_H

#include "writer/lane/ending.h"
#include "writer/lane/segment.h"

record_put gap_put;
lane_end_put gap_open_put; /* a gap that was not yet recorded */

#endif
