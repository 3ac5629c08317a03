/* SPDX-License-Identifier: Apache-2.0 */
/*
 * occupancy_function.h - the occupancy of kernels (reader/stats/occupancy.h) in SQL. Called by
 * functions.c alone.
 *
 *   occupancy_blocks(what, major, minor, threads of a warp, warps, blocks, registers and bytes of
 *                    shared memory of a multiprocessor, threads, registers of a thread and bytes of
 *                    shared memory of a block)
 *                          blocks of a kernel that fit on a multiprocessor at once: `what` is
 *                          'all', or one limit: 'registers', 'shared', 'warps', 'blocks'; NULL if
 *                          too little is known, or a block does not fit
 */
#ifndef READER_SQL_OCCUPANCY_FUNCTION_H
#define READER_SQL_OCCUPANCY_FUNCTION_H

#include "reader/sql/connection.h"

/* Register the function. Returns 0 or a negative errno. */
int occupancy_function_add(struct sql *s);

#endif
