/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shares.h - how much of the time between two calls, or in one, a thread ran, and was runnable
 * without a CPU, as far as context switches or readings of the kernel's counters say (PATH_FACTS of
 * path.sql).
 *
 * path_facts_read() when the threads have been read; path_facts_free() before the graph is
 * released. Functions that return int return a code of SQLite. One thread; allocates.
 */
#ifndef READER_SQL_PATH_SHARES_H
#define READER_SQL_PATH_SHARES_H

#ifdef HAVE_SQLITE

#include "reader/sql/path/graph.h"

/* Between readings it is not known when a thread had no CPU. Only gaps between calls that are at
 * least so long count: a thread that loses its CPU waits longer. */
#define PATH_GAP_NS 100000

/* A part of a gap, from `start` to the end that was asked for. */
struct path_share {
	int64_t start, running, runnable; /* ns; the rest: neither */
	bool is_exact;
};

int path_facts_read(struct path_graph *g);
void path_facts_free(struct path_graph *g);

/* Find how long a thread ran, and had no CPU, in a part of a call that is not a wait for somebody
 * who is known. Where nothing is known, it did neither. */
void path_call_share_find(struct path_graph *g, uint32_t track, int64_t start, int64_t end,
	struct path_share *ret_share);

/* Find the last part of a gap in the calls of a thread for which the same is known. Where nothing
 * is, the thread ran. */
void path_share_find(struct path_graph *g, uint32_t track, int64_t start, int64_t end,
	struct path_share *ret_share);

#endif

#endif
