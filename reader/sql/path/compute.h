/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute.h - the tables of the critical path for statements that name them.
 */
#ifndef READER_SQL_PATH_COMPUTE_H
#define READER_SQL_PATH_COMPUTE_H

#include "reader/sql/connection.h"

/* Create the temporary table LIBTRACE_CRITICAL_PATH, or LIBTRACE_WAIT_GRAPH, or both. Needs the
 * views of reports (views_make). Returns 0 or a negative errno. */
int path_compute(struct sql *s, bool segments, bool graph);

#endif
