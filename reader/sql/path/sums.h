/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums.h - segments of critical paths, summed up by what they have in common.
 *
 * All zero is empty. path_sums_add() for each segment; path_sums_release(). Functions return a code
 * of SQLite. One thread; allocates.
 */
#ifndef READER_SQL_PATH_SUMS_H
#define READER_SQL_PATH_SUMS_H

#ifdef HAVE_SQLITE

#include "reader/sql/path/parts.h"
#include "reader/sql/path/things.h"

struct path_sum {
	uint32_t track, name, chain;                /* name: index, or PATH_NOWHERE */
	uint32_t wait_track, wait_name, wait_chain; /* wait_name: index, or PATH_NOWHERE */
	enum path_kind kind;
	enum path_how how;
	bool is_timeout;
	struct path_about about;
	int64_t sample;  /* id of a CPU sample; 0 = none */
	int64_t segment; /* number of the part of a segment that the sample is in */
	int64_t count, longest;
	double ns;
};

struct path_sums {
	struct path_sum *list;
	uint32_t count, capacity;
	struct map index; /* pairs of numbers of the columns of a sum -> 1 + index */
	struct map pairs;
	struct map files;  /* number of a call and its place, and index of a file with a name */
	struct map places; /* number of a call and its place -> how many files have a name */
	int64_t segments;
};

/* Add a segment with its parts. */
int path_sums_add(struct path_sums *s, const struct path_graph *g, const struct path_segment *p,
	const struct path_about *about, const struct path_parts *parts);
void path_sums_release(struct path_sums *s);

#endif

#endif
