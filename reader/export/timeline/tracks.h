/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracks.h - tracks of a timeline, and the nesting of slices on each.
 *
 * A slice is put on a track only if it is inside all slices that are open on the track; else on an
 * overflow of the track. Slices are opened in order of their start; among equal starts, the longest
 * first. Memory grows with the number of tracks. One thread; allocates.
 */
#ifndef READER_EXPORT_TIMELINE_TRACKS_H
#define READER_EXPORT_TIMELINE_TRACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/base/map.h"
#include "reader/base/pool.h"
#include "reader/report/processes.h"

#define TRACK_NAME_BYTES 300u
#define TRACK_UNKNOWN UINT32_MAX  /* id of a stream or context that is not known, or none */
#define TRACK_OVERFLOWS_MAX 1000u /* bounds the work for slices that overlap without nesting */

enum track_kind {
	TRACK_PROCESS,
	TRACK_THREAD,         /* calls of a thread */
	TRACK_STATES,         /* states of a thread */
	TRACK_RANGES,         /* push/pop ranges and marks of a thread in an NVTX domain */
	TRACK_SPANS,          /* start/end ranges of a process in an NVTX domain */
	TRACK_STREAM,         /* work on a stream of a device */
	TRACK_WAITS,          /* synchronization with a device */
	TRACK_UNIFIED_MEMORY, /* unified memory of a process */
	TRACK_OVERHEAD,       /* overhead of CUDA in a process */
	TRACK_NCCL,           /* events of NCCL of a process, by kind */
	TRACK_NVTX_COUNTER,
	TRACK_DEVICE_MEMORY, /* memory in use by a process on a device, by kind */
	TRACK_METRIC,        /* a hardware metric of a device */
	TRACK_MACHINE        /* a value of samples of the machine: track_metric() is its id */
};

/* Identity of a track; members that do not apply are 0. */
struct track_key {
	const struct process *process;
	enum track_kind kind;
	uint32_t tid;
	uint32_t domain;  /* Strings id */
	uint32_t device;  /* number of the GPU (gpus.h) */
	uint32_t context; /* id of the context, TRACK_UNKNOWN = not known */
	uint64_t id;      /* id of the stream (TRACK_UNKNOWN) or counter; kind of memory or event
			   */
};

/* Return the id of a track of samples of the machine: the kind of event, the number of the field,
 * the device. */
static inline uint64_t track_metric(uint32_t kind, uint32_t field, uint64_t device)
{
	return (uint64_t)kind << 24 | (uint64_t)field << 16 | (device & 0xffff);
}

/* Return true for tracks of counters. */
static inline bool track_is_counter(const struct track_key *key)
{
	return key->kind == TRACK_NVTX_COUNTER || key->kind == TRACK_DEVICE_MEMORY ||
		key->kind == TRACK_METRIC || key->kind == TRACK_MACHINE;
}

struct track {
	struct track_key key;
	uint32_t number;   /* number from 1, in order of first use */
	uint32_t overflow; /* number of overflows before it; 0 = the track itself */
	uint32_t parent;   /* number of the parent track; 0 = none */
	const char *domain;
	struct track *next; /* next overflow; NULL = none yet */
	uint64_t *open_ns;  /* ends of the open slices, outermost first */
	uint32_t open_count, open_capacity;
	int64_t sum;       /* sum of a counter that counts differences */
	bool is_described; /* the writer has written the description of the track */
};

struct tracks {
	const struct contents *contents;
	struct track **rows; /* indexed by number - 1 */
	uint32_t count, capacity;
	struct map by_key;  /* keys with the ids of the rows */
	struct map by_text; /* keys with the name of the domain */
	struct pool texts;
	/* Called when a slice of a track has ended; may be NULL. */
	void (*ended)(void *user, const struct track *track, uint64_t ns);
	void *user;
};

/* Initialize. `contents` must outlive `l`; tracks_release() frees all tracks. */
void tracks_init(struct tracks *l, const struct contents *contents);
void tracks_release(struct tracks *l);

/* Return the track with this key, which is created if needed; NULL = out of memory. Domains with
 * the same name are the same domain. */
struct track *track_find(struct tracks *l, const struct track_key *key);

/* End the slices that are over at `start_ns`, and open a slice on the track or an overflow of it:
 * *ret_track, NULL = too many slices overlap without nesting. Returns 0 or -ENOMEM. */
int track_open(struct tracks *l, struct track *track, uint64_t start_ns, uint64_t end_ns,
	struct track **ret_track);

/* End all open slices. */
void tracks_end(struct tracks *l);

/* Write the name of a track within its process, at most `bytes`: "NVTX:domain", "GPU 0, context 1,
 * stream 7". The caller names threads. */
void track_name(const struct track *track, char *out, size_t bytes);

#endif
