/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edges.h - what calls of MPI say about the order of times on different hosts.
 *
 * A message that was received had been sent, and nobody leaves a barrier before all have entered
 * it. So each call has an edge: a time that is not after the end, or not before the start, of the
 * same message or collective elsewhere. Edges with the same key belong together: every `enter` of
 * one host is before every `leave` of another.
 *
 * Calls of different processes are matched by their order in a communicator, so calls whose order
 * is not certain have no edge: where events are missing, where threads share a communicator, where
 * a receive does not say what it received. Memory: at most EDGES_MAX rows; if there are more, only
 * those whose keys have some bits are kept, the same in all reports. One thread; allocates.
 */
#ifndef READER_MERGE_EDGES_H
#define READER_MERGE_EDGES_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/report/contents.h"

#define EDGES_MAX (4u << 20)
#define EDGE_COLUMNS 10

enum edge_kind { EDGE_SEND, EDGE_RECEIVE, EDGE_COLLECTIVE };

struct edge {
	uint64_t key;
	uint32_t host;
	uint32_t kind : 2;          /* enum edge_kind */
	uint32_t communicator : 30; /* index in `communicators`, while the report is read */
	int64_t enter_ns;           /* INT64_MIN = none */
	int64_t leave_ns;           /* INT64_MAX = none */
};

/* A communicator of a process; its handle may be used again later. */
struct edge_communicator {
	uint32_t process;
	uint32_t local_rank;
	uint64_t handle, identity; /* the same identity in all its members */
	int64_t ns;                /* when it was created */
	uint32_t collectives;      /* so far */
	uint32_t message_tid, collective_tid;
	bool uncertain[3]; /* by enum edge_kind: their order is not certain */
};

struct edges {
	struct edge *rows;
	uint32_t count, capacity;
	uint64_t mask; /* keys with one of these bits are left out */

	/* of the current report */
	uint32_t first; /* its first row */
	uint32_t host;
	struct edge_communicator *communicators;
	uint32_t communicator_count, communicator_capacity;
	struct map channels;   /* communicator and channel -> number of messages */
	struct map calls;      /* id of a function's name -> what it is */
	struct map disorderly; /* processes in which the order of messages is not certain */
	struct contents *contents;
	int64_t *columns[EDGE_COLUMNS]; /* decoded columns of a batch */
};

void edges_release(struct edges *e);

/* Note the rows of communicators. Call it for each batch in the first pass over a report, then
 * edges_read(). Returns 0, -EBADMSG or -ENOMEM. */
int edges_note_batch(struct edges *e, const struct event_batch *b);

/* Read the calls of MPI of a report, whose batches were noted and whose contents are complete, and
 * add the edges of its host. Returns 0 or a negative errno. */
int edges_read(struct edges *e, const struct report *r, struct contents *c, uint32_t host);

/* Sort the rows by key, then host. */
void edges_sort(struct edges *e);

#endif
