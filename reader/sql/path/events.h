/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - streams that wait for events of other streams (cudaStreamWaitEvent).
 *
 * path_events_read() when the calls have been read; path_events_free() before the graph is
 * released. Functions that return int return a code of SQLite. One thread; allocates.
 */
#ifndef READER_SQL_PATH_EVENTS_H
#define READER_SQL_PATH_EVENTS_H

#ifdef HAVE_SQLITE

#include "reader/sql/path/graph.h"

int path_events_read(struct path_graph *g);
void path_events_free(struct path_graph *g);

/* Find the operation of another stream that an operation waited for by an event and that ended
 * last, before it began; `before`: the one before it in its stream, or NULL. Sets the index of its
 * stream. NULL = none. */
const struct path_call *path_event_find(const struct path_graph *g, uint32_t track,
	const struct path_call *c, const struct path_call *before, uint32_t *ret_track);

#endif

#endif
