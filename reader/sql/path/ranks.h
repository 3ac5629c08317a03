/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks.h - operations that waited on the device for an operation of another rank: kernels of NCCL.
 *
 * Such a kernel is two operations of its stream: the wait, whose name has the role ROLE_RANK, and
 * what followed. nccl_waits.sql finds them.
 *
 * path_ranks_read() when the graph has been read. One thread; allocates.
 */
#ifndef READER_SQL_PATH_RANKS_H
#define READER_SQL_PATH_RANKS_H

#ifdef HAVE_SQLITE

#include "reader/sql/path/waits.h"

/* Find the operations that all waits are for, unless that has been done. Returns a code of
 * SQLite. */
int path_ranks_read(struct path_graph *g);

/* Return what is known of an operation that waited or took part in a collective; NULL = nothing. */
static inline const struct path_rank *path_rank_of(
	const struct path_graph *g, const struct path_track *t, const struct path_call *c)
{
	return t->is_stream && c->holder ? &g->ranks[c->holder - 1] : NULL;
}

/* Return whether an operation is a wait for another rank. */
static inline bool path_waits_for_rank(const struct path_graph *g, const struct path_call *c)
{
	return path_name_of(g, c)->role == ROLE_RANK;
}

/* Return the operation of another rank whose start ended a wait. Sets the track, the time, and how
 * sure that is; returns NULL if the operation is not there. */
const struct path_call *path_rank_find(
	const struct path_graph *g, const struct path_call *wait, struct path_wait *ret_wait);

#endif

#endif
