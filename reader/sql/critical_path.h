/* SPDX-License-Identifier: Apache-2.0 */
/*
 * critical_path.h - virtual table that walks from the end of a program back to its start, along
 * what each thread waited for. Called by connection.c alone.
 *
 * The input is in three temporary tables or views (reader/reports/shared/path.sql has them). A
 * track is a thread or a stream of a device.
 *
 *   PATH_TRACKS  track (number), start, parent (track that started it, or NULL), parent_time,
 *                is_stream
 *   PATH_SPANS   id, track, start, end, is_work, other (track, or NULL), other_time
 *   PATH_GOALS   goal (number), track, start, end: paths to walk, each from `end` back to `start`
 *
 * A span is an operation of a track; of spans that overlap the
 * later one is cut, and a span within another one is left out.
 * If is_work is 0, the track waited until `other` did something at other_time: from there the path
 * goes on. If is_work is 1, the time of the span is the track's own, and `other` is what launched
 * it: the path goes on there if nothing on the track ended later. A span without `other` is on the
 * path as it is.
 *
 *   critical_path(COLUMNS)  goal, number (of the segment, counted from the end), track, start, end,
 *                           kind, span (its id; NULL for `between`), wait (id of the wait that
 *                           led to this track; NULL = none, or the track's own start did)
 *
 * kind: `span` (an operation), `between` (a thread between two of its spans), `wake` (from
 * other_time to the end of the wait), `launch` (from other_time to the start of the operation),
 * `queue` (from the end of the operation before to the start of the next), `begin` (from
 * parent_time to the start of the track), `before` (before the first track began). The segments of
 * a goal follow each other without a gap, so their durations add up to the goal's.
 */
#ifndef READER_SQL_CRITICAL_PATH_H
#define READER_SQL_CRITICAL_PATH_H

#include "reader/sql/connection.h"

/* Register the table. Returns 0 or a negative errno. */
int critical_path_add(struct sql *s);

#endif
