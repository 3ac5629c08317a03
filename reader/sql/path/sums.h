/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums.h - segments of critical paths, summed up by what they have in common.
 *
 * path_sums_init(); path_sums_add() for each segment; path_sums_release(). Functions return a code
 * of SQLite. One thread; allocates.
 */
#ifndef READER_SQL_PATH_SUMS_H
#define READER_SQL_PATH_SUMS_H

#ifdef HAVE_SQLITE

#include "reader/sql/path/walk.h"

struct path_sum {
	uint32_t track, name, chain;                /* name: index, or PATH_NOWHERE */
	uint32_t wait_track, wait_name, wait_chain; /* wait_name: index, or PATH_NOWHERE */
	enum path_kind kind;
	enum path_how how;
	bool is_timeout;
	int64_t sample;  /* id of a CPU sample; 0 = none */
	int64_t segment; /* number of the segment that the sample is in */
	int64_t count, longest;
	double ns;
};

struct path_sample {
	int64_t time, id;
	double weight; /* processor time since the one before */
	uint32_t track;
};

struct path_sums {
	struct path_sum *list;
	uint32_t count, capacity;
	struct map index; /* pairs of numbers of the columns of a sum -> 1 + index */
	struct map pairs;
	struct path_sample *samples; /* sorted by track and time; in the graph's `spill` */
	uint32_t sample_count, sample_capacity;
	int64_t segments;
};

/* Read the CPU samples. */
int path_sums_init(struct path_sums *s, struct path_graph *g);
int path_sums_add(struct path_sums *s, const struct path_graph *g, const struct path_segment *p);
void path_sums_release(struct path_sums *s);

#endif

#endif
