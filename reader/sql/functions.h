/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.h - SQL functions that the reports need and SQLite does not have. Called by
 * connection.c alone.
 *
 *   median(x)              aggregate: the middle value, or the mean of the two middle values; drops
 *                          fractions; memory is bounded,
 *                          further values are written to an unlinked file
 *   sum(x)                 as SQLite's, but does not fail beyond 64 bits (sums.h)
 *   stddev(x)              aggregate: standard deviation of a sample (n - 1); 0 for one value
 *   range_crosses(id, start, end)
 *                          window function over ROWS UNBOUNDED PRECEDING, ordered by start, end
 *                          DESC: 1 if an earlier range ends within this one, 0 if not
 *   track_row(start, end)  window function over ROWS UNBOUNDED PRECEDING, ordered by start, end
 *                          DESC: the lowest row, from 0 to 63, that is free at that time
 *   text_number(text), number_text(number)
 *                          a number that only equal texts have, and its text: rows are sorted by
 *                          numbers in less time and room
 *   learn_number(kind, id, text), learned_number(kind, id)
 *                          text_number(text), kept under kind and id; what was kept, or NULL
 *   api_name(text)         a CUDA API name without its version, if that has four digits
 *   argument(name)         the value of an argument of the current report; 1 if it has no value;
 *                          NULL if it is not present
 *   enum_label(table, id)  the label of an ENUM_* table as this program exports it, or NULL
 *   python_place(symbol, module)
 *                          "file.py:42" of a Python frame of the program itself, or NULL
 *   name_hash(text)        the hash by which cuda_kernel_code names kernels (common/schema/fnv.h)
 *   occupancy_blocks(...)  blocks of a kernel on a multiprocessor (occupancy_function.h)
 *   missing_column(table, column)
 *                          fails; views.c writes it for a column that the database lacks
 *
 * Values that are not numbers are treated as NULL, which the aggregates ignore.
 */
#ifndef READER_SQL_FUNCTIONS_H
#define READER_SQL_FUNCTIONS_H

#include "reader/sql/connection.h"

/* Register the functions. Returns 0 or a negative errno. */
int functions_add(struct sql *s);

#endif
