/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.h - what SQLite lacks for the reports, as SQL functions. For connection.c.
 *
 *   median(x)              aggregate: the middle value, or the mean of the two; memory is bounded,
 *                          further values go to an unlinked file
 *   stddev(x)              aggregate: standard deviation of a sample (n - 1); 0 for one value
 *   range_parent(id, start, end), range_level(...), range_stack(...)
 *                          window functions over ROWS UNBOUNDED PRECEDING, ordered by start, end
 *                          DESC: the id of the innermost earlier range that holds this one, how
 *                          many there are around it, and their ids and its own as ":1:2:3"
 *   range_crosses(id, start, end)
 *                          the same kind: 1 if an earlier range ends within this one, 0 if not
 *   lane_row(start, end)   window function over ROWS UNBOUNDED PRECEDING, ordered by start, end
 *                          DESC: the least row, from 0 to 63, in which nothing else is at that time
 *   api_name(text)         a CUDA API name without its version, where that has four digits
 *   argument(name)         the value of an argument of the report at hand; 1 if it has none;
 *                          NULL if it was not given
 *   enum_label(table, id)  the label of an ENUM_* table as this program exports it, or NULL
 *
 * Values that are no numbers count as NULL, which the aggregates leave out.
 */
#ifndef READER_SQL_FUNCTIONS_H
#define READER_SQL_FUNCTIONS_H

#include "reader/sql/connection.h"

/* 0 or a negative errno. */
int functions_add(struct sql *s);

#endif
