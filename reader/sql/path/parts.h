/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts.h - what a segment of a path consists of: time between two calls is divided among the
 * functions of libraries that the thread was in (functions.h) and, where it ran, the CPU samples.
 *
 * path_parts_init() when the functions have been read; path_parts_find() for each segment;
 * path_parts_release(). Functions return a code of SQLite. One thread; allocates.
 */
#ifndef READER_SQL_PATH_PARTS_H
#define READER_SQL_PATH_PARTS_H

#ifdef HAVE_SQLITE

#include "reader/sql/path/walk.h"

struct path_part {
	uint32_t name;  /* index: of the call or operation, or of the function; or PATH_NOWHERE */
	uint32_t group; /* number of the name in this segment */
	int64_t sample; /* id of a CPU sample; 0 = none */
	double ns;
};

struct path_sample {
	int64_t time, id;
	double weight; /* processor time since the one before */
	uint32_t track;
};

struct path_parts {
	struct path_part *list; /* of the last segment, by group */
	uint32_t count, capacity;
	struct path_sample *samples; /* sorted by track and time; in the graph's `spill` */
	uint32_t sample_count, sample_capacity;
	struct path_group *groups; /* [0]: in no function */
	uint32_t group_count, group_capacity;
	struct map group_of; /* name -> group, of the last segment */
};

/* Read the CPU samples. */
int path_parts_init(struct path_parts *p, struct path_graph *g);

/* Return the first sample of a track after a time. *ret_end: behind the last one of all tracks. */
const struct path_sample *path_samples_after(const struct path_parts *p, uint32_t track,
	int64_t time, const struct path_sample **ret_end);

/* Find the parts of a segment, one at least. Their times add up to the segment's. */
int path_parts_find(
	struct path_parts *p, const struct path_graph *g, const struct path_segment *segment);
void path_parts_release(struct path_parts *p);

#endif

#endif
