/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - state of an XSpace that is being written: lines, planes, texts, open ranges.
 *
 * Used only inside reader/export/xplane/. One thread.
 */
#ifndef READER_EXPORT_XPLANE_STATE_H
#define READER_EXPORT_XPLANE_STATE_H

#include "reader/export/proto.h"
#include "reader/export/temporary_stream.h"
#include "reader/export/timeline/timeline.h"

#define XPLANE_CALLS (1u << 16) /* recent calls whose NVTX range is kept; a power of two */
#define XPLANE_NVTX "NVTX:"     /* prefix of NVTX names */
#define XPLANE_ALLOCATOR_BYTES (TRACK_NAME_BYTES + 30)
#define XPLANE_OPEN_MAX 4096u /* open ranges of a thread; far beyond any real program */

/* A line: the events of a track. */
struct xplane_line {
	const struct track *track;
	struct temporary_stream events;
	uint32_t plane;
	uint32_t kinds; /* kinds of device events, as bits (xplane_kind_bit()) */
};

enum xplane_use { XPLANE_NAME = 1, XPLANE_VALUE };

/* A plane, and the texts that it uses as names of events and as values. */
struct xplane_plane {
	bool is_device;
	uint32_t device; /* number of the device */
	uint8_t *uses;   /* bits of enum xplane_use, indexed by number of the text - 1 */
	uint32_t room;
};

/* A recent call, by correlation id, and the NVTX range that was open. */
struct xplane_call {
	uint32_t process;
	uint64_t correlation;
	uint32_t range; /* number of the text */
};

struct xplane {
	struct timeline *timeline;
	const char *steps;
	uint64_t origin_ns, last_ns;
	uint64_t step;
	bool several;       /* several processes used devices: correlation ids include the
			     * process */
	struct proto event; /* event that is being written */
	struct temporary_file temporary;
	struct xplane_line *lines; /* indexed by number of the track - 1 */
	uint32_t line_room;
	struct xplane_plane *planes; /* the first plane is the host */
	uint32_t plane_count, plane_capacity;
	struct pool texts;
	struct map numbers;
	const char **by_number; /* indexed by number - 1 */
	uint32_t text_count, text_capacity;
	struct map event_texts; /* number of a name and its domain -> number of the text */
	struct map operations;  /* number of a range's text -> number of its operation */
	struct map ranges;      /* process and thread -> open ranges */
	struct xplane_ranges {
		struct xplane_range {
			uint64_t end_ns;
			uint32_t text;
		} * open;
		uint32_t count, capacity;
	} * threads;
	uint32_t thread_count, thread_capacity;
	struct xplane_call *calls;
	struct map peaks; /* number of a track -> index + 1 of its peak */
	int64_t *peak_bytes;
	uint32_t peak_count, peak_capacity;
	int error;
};

#endif
