/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes.h - the lanes of a spool: finding, checking and polling them.
 *
 * Offsets and heads are those of a hostile process: an invalid lane is marked damaged, counted in
 * spool->damaged_lanes, and read no further. One thread.
 */
#ifndef WRITER_SPOOL_LANES_H
#define WRITER_SPOOL_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "writer/spool/spools.h"

/* Counts of events of one process of the report. */
struct tally {
	uint64_t produced; /* according to slots and positions */
	uint64_t written;  /* rows that were encoded */
	uint64_t summarized, abandoned, impossible, unfinished;
	uint64_t callchains, callchains_cut;
};

struct lane_view {
	uint32_t index;
	uint64_t offset;   /* offset of struct lane */
	uint64_t position; /* end of the slots drained into the block that is being filled */
	uint64_t head; /* head at the last look: read before the time that its records are converted
			  with */
	uint32_t tid;  /* thread whose records follow; 0 = not known */
	uint32_t owner; /* Process.id of a vfork child that runs on this lane, 0 = the spool's own
			   process */
	uint32_t owner_pid;
	struct tally own, guest;     /* counts of the spool's process, of the current owner */
	uint64_t ranges;             /* file offset of its open NVTX ranges, once they were read */
	uint64_t gaps;               /* number of missing events, by the GAP rows */
	uint64_t unsure;             /* open calls that may have ended, counted as dropped */
	uint64_t unwritten;          /* slots that the head counts and no thread wrote */
	bool guest_execs;            /* the owner was about to exec */
	struct last_exec guest_exec; /* ... this program */
	bool touched;                /* position is ahead of the tail in the spool */
	bool closed; /* its last rows are in the block that is being filled, or in the report */
	bool damaged;
};

/* Add the new lanes of the spool to spool->lanes. May remap the spool. */
void spool_find_lanes(struct spool *spool);

/* Return the lane in the spool; NULL if it is damaged or not in the file. May remap the spool. */
struct lane *lane_of(struct spool *spool, const struct lane_view *view);

/* Refresh the heads of all open lanes. Return the number of bytes between their positions and
 * heads, and raise *fullest to that number for the fullest lane. */
uint64_t spool_look(const struct spools *s, struct spool *spool, uint64_t *fullest);

/* Mark the lane damaged. */
void lane_damage(struct spool *spool, struct lane_view *view);

#endif
