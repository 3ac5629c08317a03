/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.h - the walk from the end of a program back to its start, along what each thread waited for.
 *
 * path_walk_begin(); path_walk_next() until it does not return SQLITE_ROW. The segments of a walk
 * follow each other without a gap, the last one first, so that their durations add up to the
 * goal's. A walk ends whatever the tables contain: at one time it visits a track once. One thread.
 */
#ifndef READER_SQL_PATH_WALK_H
#define READER_SQL_PATH_WALK_H

#ifdef HAVE_SQLITE

#include "reader/sql/path/events.h"
#include "reader/sql/path/ranks.h"
#include "reader/sql/path/shares.h"
#include "reader/sql/path/waits.h"

#define PATH_VISITS_MAX 64u /* tracks that a walk visits without moving in time */

enum path_kind {
	KIND_SPAN,     /* a call or operation */
	KIND_BETWEEN,  /* a thread between two calls */
	KIND_WAKE,     /* from what ended a wait to the end of the call or operation */
	KIND_LAUNCH,   /* from the end of the launch to the start of the operation */
	KIND_QUEUE,    /* from the operation before to the start of the next */
	KIND_BEGIN,    /* from the call that started a track to its start */
	KIND_RUNNABLE, /* as KIND_BETWEEN, but without a CPU; both also in a call */
	KIND_OFF,      /* as KIND_BETWEEN, but neither running nor runnable */
	KIND_BEFORE    /* before the first track began */
};

struct path_segment {
	int64_t number; /* counted from the end */
	int64_t start, end;
	int64_t gap_start,
		gap_end; /* of the time between two calls, or in one, that it is a part of */
	uint32_t track;
	enum path_kind kind;
	enum path_how how;
	const struct path_call *span; /* NULL between calls, and for KIND_BEGIN and KIND_BEFORE */
	const struct path_call *wait; /* the wait that led to this track; NULL = none, or the
					 track's own start did, or the wait had not begun */
	uint32_t wait_track;
};

struct path_walk {
	struct path_graph *graph;
	int64_t start, number;
	int64_t time; /* where the walk is: at this time on this track */
	uint32_t track;
	const struct path_call *operation; /* the walk is at its start, and leaves it */
	const struct path_call *wait;
	uint32_t wait_track;
	int64_t split_start, split_end, running,
		runnable; /* where parts of the time between two calls begin that come
		next, from its end: off a CPU, without one, running */
	bool is_split;
	enum path_how split_how;
	uint32_t visited[PATH_VISITS_MAX], visits; /* tracks at this time */
};

/* Begin to walk from the end of a goal on a track to its start. */
void path_walk_begin(
	struct path_walk *w, struct path_graph *g, uint32_t track, int64_t start, int64_t end);

/* Return SQLITE_ROW with the next segment, SQLITE_DONE after the last one, or an error. */
int path_walk_next(struct path_walk *w, struct path_segment *ret_segment);

#endif

#endif
