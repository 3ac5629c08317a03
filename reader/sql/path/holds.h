/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holds.h - in which function a thread held a lock that another one waited for.
 *
 * That is the function that took the lock, by the callchain of the call. Where there is none, it is
 * a function that all callchains and CPU samples of the holder during the wait have in common: the
 * innermost one that takes this lock elsewhere in the report, else the innermost one, if they are
 * at least two. One alone does not say which of its functions has the lock.
 *
 * path_holds_free() before the graph is released. Functions that return int return a code of
 * SQLite. One thread; allocates.
 */
#ifndef READER_SQL_PATH_HOLDS_H
#define READER_SQL_PATH_HOLDS_H

#ifdef HAVE_SQLITE

#include "reader/sql/path/parts.h"

/* Find the function in which the lock was held that a call waited for: the index of its name, or
 * PATH_NOWHERE. */
int path_hold_find(struct path_graph *g, const struct path_parts *parts, uint32_t track,
	const struct path_call *wait, uint32_t *ret_function);

/* Finalize statements, which may not outlive a statement of SQL that reads the tables. */
void path_holds_rest(struct path_graph *g);

void path_holds_free(struct path_graph *g);

#endif

#endif
