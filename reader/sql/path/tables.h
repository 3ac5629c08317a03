/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables.h - virtual tables of the critical path. Called by connection.c alone.
 *
 * The input is what graph.h says, and
 *
 *   PATH_GOALS  goal (number), track, start, end: paths to walk, each from `end` back to `start`
 *
 *   traced_threads(COLUMNS)   track, start, end: threads with their first and last time. Reading it
 *                           reads all calls anew, the other tables use what it has read
 *   traced_streams(COLUMNS)   track (below 0), start, process, device, context, stream
 *   traced_calls(COLUMNS)     calls and operations, and what they waited for: number, source,
 * track, start, end, name, role, object, pipe, value, chain, other (track), other_time, how
 *   traced_orders(COLUMNS)  operations of other streams that an operation waited for, by an event
 * or the order of the default stream: number, track, other (track), other_time (its end)
 *   critical_path(COLUMNS)    parts of segments of paths (parts.h): goal, number (of the segment,
 *                             counted from the end), track, start and end (of the segment), kind,
 *                             span (number of the call; NULL = none), wait (number of the call
 *                             whose wait led to this track), how, source, name, chain, is_timeout,
 *                             sample, ns (of the part); of the call (things.h): file (name), object
 *                             (address), object_chain (of the first call that used it), other
 *                             (track), function (name); program (name); parts (of the segment)
 *   critical_path_sums(COLUMNS)  parts summed up: track, kind, how, source, name, chain,
 *                             is_timeout, wait_track, wait_source, wait_name, wait_chain, sample,
 *                             segment, ns, count, longest, file, object, object_chain, other,
 *                             function, program, and those of the wait. Parts with a CPU sample
 *                             have a row each; those of one name in a segment have the same number
 *                             `segment`
 *
 * kind: span, between, wake, launch, queue, begin, runnable, off, before (walk.h).
 */
#ifndef READER_SQL_PATH_TABLES_H
#define READER_SQL_PATH_TABLES_H

#include "reader/sql/connection.h"

/* Register the tables. Returns 0 or a negative errno. */
int path_tables_add(struct sql *s);

#endif
