/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptors.h - what a descriptor of a process was at a time: a file, a pipe, a socket, by the
 * calls that opened, copied and closed it.
 *
 * path_descriptors_sort() when the calls have been read. One thread.
 */
#ifndef READER_SQL_PATH_DESCRIPTORS_H
#define READER_SQL_PATH_DESCRIPTORS_H

#ifdef HAVE_SQLITE

#include "reader/sql/path/graph.h"

/* What a descriptor is. */
struct path_file {
	bool is_file; /* it has no writer that a reader waits for */
	int64_t pipe; /* number of the call that created it; 0 = none is known */
	bool end;     /* which of its two: of a pipe, false reads */
	bool both_ways;
	uint32_t name; /* 1 + index of its name; 0 = not known */
};

/* Sort what was read. Returns a code of SQLite. */
int path_descriptors_sort(struct path_graph *g);

/* Return what a descriptor of a process is at a time. */
struct path_file path_file_at(
	const struct path_graph *g, int64_t process, int32_t descriptor, int64_t time);

/* Return what the descriptor of a call is when it begins. */
struct path_file path_file_of_call(
	const struct path_graph *g, uint32_t track, const struct path_call *c);

/* Return the number of the pipe that a call reads or writes; 0 = none that is known. */
int64_t path_pipe_of(struct path_graph *g, uint32_t track, const struct path_call *c);

/* Return the index of the name of the file, pipe or socket that a call uses or opens, or
 * PATH_NOWHERE. */
uint32_t path_file_of(const struct path_graph *g, uint32_t track, const struct path_call *c);

#endif

#endif
