/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - streams that wait for events of other streams (cudaStreamWaitEvent), or for the
 * default stream.
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

/* A search for the operations of other streams that an operation waited for: by an event, or since
 * one of both is in the default stream. */
struct path_event_search {
	uint32_t track;
	const struct path_call *call;
	uint32_t wait, ordered; /* where it goes on */
	uint32_t ordered_end;   /* after the last track of `ordered` */
	uint32_t after;         /* correlation id of the operation before it in its stream */
};

/* Begin a search; `before`: the operation before it in its stream, or NULL. */
struct path_event_search path_event_begin(const struct path_graph *g, uint32_t track,
	const struct path_call *c, const struct path_call *before);

/* Return the next operation, and set the index of its stream; NULL = there is no further one. */
const struct path_call *path_event_next(
	const struct path_graph *g, struct path_event_search *s, uint32_t *ret_track);

/* Find that which ended last, before the operation began; NULL = none. */
const struct path_call *path_event_find(const struct path_graph *g, uint32_t track,
	const struct path_call *c, const struct path_call *before, uint32_t *ret_track);

#endif

#endif
