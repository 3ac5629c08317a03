/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracks.h - the tracks of a timeline: what may lie in each other there, and what has ended when
 * something new begins.
 *
 * A slice stands in a lane only where it lies in all that is open there; else in an overflow of the
 * lane. Slices come in order of their start, of equal starts the longest first. Memory follows the
 * number of lanes. One thread; allocates.
 */
#ifndef READER_EXPORT_TIMELINE_TRACKS_H
#define READER_EXPORT_TIMELINE_TRACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/base/map.h"
#include "reader/base/pool.h"
#include "reader/report/processes.h"

#define LANE_NAME_BYTES 300u
#define LANE_OVERFLOWS_MAX \
	1000u /* bounds the work that slices can make which lie across each other */

enum lane_kind {
	LANE_PROCESS,
	LANE_THREAD,         /* calls of a thread */
	LANE_RANGES,         /* pushes, pops and marks of a thread in an NVTX domain */
	LANE_SPANS,          /* NVTX starts and ends of a process in a domain */
	LANE_STREAM,         /* work of a device */
	LANE_WAITS,          /* synchronization with a device */
	LANE_UNIFIED_MEMORY, /* of a process */
	LANE_OVERHEAD,       /* of CUDA in a process */
	LANE_NVTX_COUNTER,
	LANE_DEVICE_MEMORY /* in use, of a process on a device, by kind */
};

/* What a lane is of; what does not apply is 0. */
struct lane_key {
	const struct process *process;
	enum lane_kind kind;
	uint32_t tid;
	uint32_t domain;  /* Strings id */
	uint32_t device;  /* number */
	uint32_t context; /* id */
	uint64_t id;      /* of the stream or counter; kind of memory */
};

struct lane {
	struct lane_key key;
	uint32_t number;   /* from 1, in order of their first use */
	uint32_t overflow; /* how many are before it: 0 = the lane itself */
	uint32_t parent;   /* number of the lane it belongs to; 0 = the process itself */
	const char *domain;
	struct lane *next; /* its overflow; NULL = none yet */
	uint64_t *open_ns; /* ends of slices that lie in each other, outermost first */
	uint32_t open_count, open_capacity;
	int64_t sum; /* of a counter that counts differences */
	bool told;   /* the writer's: its description has been written */
};

struct lanes {
	const struct contents *contents;
	struct lane **rows; /* by number - 1 */
	uint32_t count, capacity;
	struct map by_key;  /* as rows have it */
	struct map by_text; /* of all names of a domain */
	struct pool texts;
	/* A slice of the lane has ended; may be NULL. */
	void (*ended)(void *user, const struct lane *lane, uint64_t ns);
	void *user;
};

void lanes_init(struct lanes *l, const struct contents *contents);
void lanes_release(struct lanes *l);

/* The lane, made if need be; NULL = out of memory. Domains of one name are one. */
struct lane *lane_find(struct lanes *l, const struct lane_key *key);

/* Ends what has ended by `start_ns`, and opens a slice in the lane or in an overflow of it:
 * *ret_lane, NULL = too many lie across each other. 0 or -ENOMEM. */
int lane_open(struct lanes *l, struct lane *lane, uint64_t start_ns, uint64_t end_ns,
	struct lane **ret_lane);

/* Ends all that is open. */
void lanes_end(struct lanes *l);

/* "NVTX:domain", "stream 7": what it is called in its process; at most `bytes`. Threads are named
 * by the caller. */
void lane_name(const struct lane *lane, char *out, size_t bytes);

#endif
