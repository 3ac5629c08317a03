/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range_sweep.h - virtual tables that visit the ranges and launches of each thread once, in order
 * of time. Called by connection.c alone.
 *
 * A join of ranges with their contents visits all pairs of a thread. A sweep keeps only the open
 * ranges: its memory is bounded by the nesting depth, its time by a sort and one visit per launch
 * and enclosing range. The tables are read-only.
 *
 * The rows come from the temporary view that the argument names, which has the columns
 *
 *   thread, start, end          thread and times of the row; a row with start > end is ignored
 *   range                       the id of a range; NULL = the row is a launch
 *   launch, first, last         id of the launch, begin and end of its work on the device
 *
 *   nested_ranges('VIEW')       a row for each range, when it has ended: id, parent (the innermost
 *                               earlier range of the thread that contains it, or NULL), level,
 *                               children, child_ns (of the direct children), operations (launches
 *                               within it), first and last of these, stack (":1:2:3", ids of the
 *                               enclosing ranges and its own; the innermost 200), visited (number
 *                               of open ranges examined so far)
 *   range_launches('VIEW')      a row for each launch and enclosing range: launch, thread, range,
 *                               place (0 = the innermost); a launch without a range has one
 *                               row, in which range is NULL
 *
 * A launch is within a range of its thread that begins no later and ends no earlier than it.
 */
#ifndef READER_SQL_RANGE_SWEEP_H
#define READER_SQL_RANGE_SWEEP_H

#include "reader/sql/connection.h"

/* Register the tables. Returns 0 or a negative errno. */
int range_sweep_add(struct sql *s);

#endif
