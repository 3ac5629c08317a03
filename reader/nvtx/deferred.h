/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deferred.h - deferred NVTX events as marks and ranges among the others.
 *
 * A program hands them over later than they were, with times of whatever clock (NVTX_DEFERRED
 * rows). nvtx_deferred_add() finds their times by ours (nvtx/clocks.h) and adds rows of NVTX_MARK,
 * NVTX_RANGE and NVTX_START_END, marked RECORD_DEFERRED, which from then on are read as if they
 * stood in the file, behind it: by every walk, cursor and pass. What has no place in time is
 * counted by its reason, and told as a Diagnostic. Costs one look at the headers of blocks where a
 * report has no such rows, else a pass over it, and holds some 100 bytes per event. One thread;
 * allocates.
 */
#ifndef READER_NVTX_DEFERRED_H
#define READER_NVTX_DEFERRED_H

#include <stdint.h>

#include "reader/file/open.h"

#define NVTX_DEFERRED_EVENTS_MAX (1u << 22) /* bounds what a report can make us hold */

/* Why an event is not placed. */
enum nvtx_unplaced {
#define UNPLACED(id, text) NVTX_UNPLACED_##id,
#define NVTX_UNPLACED_REASONS                                                            \
	UNPLACED(NO_TIME, "no time in the layout")                                       \
	UNPLACED(HALF, "a begin without an end, or an end without a begin")              \
	UNPLACED(REVERSED, "an end before the begin")                                    \
	UNPLACED(NO_CLOCK, "no clock told")                                              \
	UNPLACED(NO_WAY, "no point of synchronization leads from the clock to ours")     \
	UNPLACED(NO_RATE, "one point of synchronization only, and no rate of the clock") \
	UNPLACED(OUTSIDE, "a time outside of the report's")                              \
	UNPLACED(MISSING, "bytes or layout not kept")                                    \
	UNPLACED(TOO_MANY, "more than a reader holds")
	NVTX_UNPLACED_REASONS
#undef UNPLACED
		NVTX_UNPLACED_COUNT
};

/* "no time in the layout" */
const char *nvtx_unplaced_text(enum nvtx_unplaced reason);

struct nvtx_deferred {
	uint64_t submissions; /* NVTX_DEFERRED rows */
	uint64_t placed;
	uint64_t unplaced[NVTX_UNPLACED_COUNT];
	uint8_t *blocks; /* the report's tail: lives as long as it is read */
};

/* Counts, and with `adds` adds. The report has no selection yet. 0 or a negative errno. */
int nvtx_deferred_read(struct nvtx_deferred *d, struct report *r, bool adds);
void nvtx_deferred_release(struct nvtx_deferred *d);

uint64_t nvtx_deferred_unplaced(const struct nvtx_deferred *d);

#endif
