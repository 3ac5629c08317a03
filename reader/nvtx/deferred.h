/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deferred.h - deferred NVTX events, inserted as marks and ranges among the other events.
 *
 * A program submits them later than they happened, with times of any clock (NVTX_DEFERRED rows).
 * nvtx_deferred_read() converts their times (nvtx/clocks.h) and adds rows of NVTX_MARK, NVTX_RANGE
 * and NVTX_START_END, flagged RECORD_DEFERRED. From then on every walk, cursor and pass reads them
 * as if the file contained them at its end. Events that cannot be placed in time are counted by
 * reason and reported as a Diagnostic. A report without such rows costs one scan of its block
 * headers, any other report one pass; memory is some 100 bytes per event. One thread; allocates.
 */
#ifndef READER_NVTX_DEFERRED_H
#define READER_NVTX_DEFERRED_H

#include <stdint.h>

#include "reader/file/open.h"

#define NVTX_DEFERRED_EVENTS_MAX (1u << 22) /* bounds memory for hostile reports */

/* Reason why an event cannot be placed in time. */
enum nvtx_unplaced {
#define UNPLACED(id, text) NVTX_UNPLACED_##id,
#define NVTX_UNPLACED_REASONS                                                                     \
	UNPLACED(NO_TIME, "the layout has no time")                                               \
	UNPLACED(HALF, "begin without end, or end without begin")                                 \
	UNPLACED(REVERSED, "end before begin")                                                    \
	UNPLACED(NO_CLOCK, "unknown clock")                                                       \
	UNPLACED(NO_WAY, "no synchronization point links the clock to that of the report")        \
	UNPLACED(NO_RATE, "a single synchronization point, and the rate of the clock is unknown") \
	UNPLACED(OUTSIDE, "time outside the report")                                              \
	UNPLACED(MISSING, "bytes or layout not recorded")                                         \
	UNPLACED(TOO_MANY, "too many events")
	NVTX_UNPLACED_REASONS
#undef UNPLACED
		NVTX_UNPLACED_COUNT
};

/* Return the text of a reason: "the layout has no time". */
const char *nvtx_unplaced_text(enum nvtx_unplaced reason);

struct nvtx_deferred {
	uint64_t submissions; /* NVTX_DEFERRED rows */
	uint64_t placed;
	uint64_t unplaced[NVTX_UNPLACED_COUNT];
	uint8_t *blocks; /* tail of the report: must outlive all reads */
};

/* Count the events and, if `adds`, add them. The report must not have a selection yet. Returns 0
 * or a negative errno; call nvtx_deferred_release() in either case. */
int nvtx_deferred_read(struct nvtx_deferred *d, struct report *r, bool adds);
void nvtx_deferred_release(struct nvtx_deferred *d);

/* Return the number of events that cannot be placed in time, for all reasons. */
uint64_t nvtx_deferred_unplaced(const struct nvtx_deferred *d);

#endif
