/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.h - which recorded function of a library (--functions) a thread is in, between its
 * other calls.
 *
 * The input is the view PATH_FUNCTION_CALLS of path.sql. Of nested calls the innermost counts. 24
 * bytes are taken for each stretch of time, of which a call has one more than calls in it.
 *
 * path_functions_read() when the calls have been read; path_functions_free() before the graph is
 * released. Functions that return int return a code of SQLite. One thread; allocates.
 */
#ifndef READER_SQL_PATH_FUNCTIONS_H
#define READER_SQL_PATH_FUNCTIONS_H

#ifdef HAVE_SQLITE

#include "reader/sql/path/graph.h"

/* A stretch of time in which a thread is in a function. Those of a thread are sorted, and do not
 * overlap. */
struct path_function {
	int64_t start, end;
	uint32_t track, name; /* indexes in the graph */
};

int path_functions_read(struct path_graph *g);
void path_functions_free(struct path_graph *g);

/* Return the first stretch of a thread that ends after a time. *ret_end: behind the last one of all
 * threads. */
const struct path_function *path_functions_after(const struct path_graph *g, uint32_t track,
	int64_t time, const struct path_function **ret_end);

#endif

#endif
