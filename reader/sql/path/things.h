/* SPDX-License-Identifier: Apache-2.0 */
/*
 * things.h - what calls use, and who: the file of a descriptor, the lock, the thread that is joined
 * or held the lock, and the program that a process ran. Causes are named after them.
 *
 * path_things_read() when the threads have been read; path_things_free() before the graph is
 * released. Functions that return int return a code of SQLite. One thread; allocates.
 */
#ifndef READER_SQL_PATH_THINGS_H
#define READER_SQL_PATH_THINGS_H

#ifdef HAVE_SQLITE

#include "reader/sql/path/holds.h"
#include "reader/sql/path/walk.h"

struct path_thing {
	uint32_t file;   /* index of its name, or PATH_NOWHERE */
	uint32_t object; /* index into `objects` of a lock, condition, semaphore or barrier; 0 =
			    none */
	uint32_t other;  /* index of the track that was joined, or held the lock, or PATH_NOWHERE */
	uint32_t function; /* index of the name of that in which it held the lock, or
			      PATH_NOWHERE */
};

/* What a segment is about. */
struct path_about {
	struct path_thing span, wait; /* of these calls of the segment */
	uint32_t program;             /* index of its name, or PATH_NOWHERE */
};

int path_things_read(struct path_graph *g);
void path_things_free(struct path_graph *g);

/* Find what a segment is about. */
int path_about_find(struct path_graph *g, const struct path_parts *parts,
	const struct path_segment *segment, struct path_about *ret_about);

/* Return the callchain of the first recorded call that used an object; 0 = none has one. Reads all
 * calls, once. */
int path_object_chain(struct path_graph *g, uint32_t object, uint32_t *ret_chain);

#endif

#endif
