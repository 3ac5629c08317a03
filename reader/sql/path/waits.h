/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits.h - what ended the wait of a call: which track, when, and how sure that is.
 *
 * The rules are in waits.c, one function for each role. What they look up is sorted when it is
 * needed first. Functions return a code of SQLite. One thread; allocates.
 */
#ifndef READER_SQL_PATH_WAITS_H
#define READER_SQL_PATH_WAITS_H

#ifdef HAVE_SQLITE

#include "reader/sql/path/graph.h"

struct path_wait {
	uint32_t track; /* index, or PATH_NOWHERE */
	int64_t time;
	enum path_how how;
};

/* Read what the database says of waits, when the threads have been read, unless that has been done.
 */
int path_waits_read(struct path_graph *g);
/* Free what was read, before the graph is released. */
void path_waits_free(struct path_graph *g);

/* Find what ended the wait of a call of a thread. */
int path_wait_find(struct path_graph *g, uint32_t track, const struct path_call *c,
	struct path_wait *ret_wait);

/* Find the stream that a call of CUDA waits for: the index of its track, or PATH_NOWHERE. */
int path_synced_stream(
	struct path_graph *g, uint32_t track, const struct path_call *c, uint32_t *ret_track);

/* Return when an operation was launched: at the end of its call, or, if the call ends after the
 * operation began, as that of a copy which the thread waits for, at its start. */
static inline int64_t path_launch_time(const struct path_launch *l, const struct path_call *c)
{
	return l->end <= c->start ? l->end : l->start;
}

#endif

#endif
