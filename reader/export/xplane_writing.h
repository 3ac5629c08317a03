/*
 * xplane_writing.h - what the parts of the writer of XSpaces share. Not for others.
 *
 * One thread.
 */
#ifndef READER_EXPORT_XPLANE_WRITING_H
#define READER_EXPORT_XPLANE_WRITING_H

#include "reader/export/proto.h"
#include "reader/export/spool.h"
#include "reader/export/xplane.h"

#define STAT(id, name) XPLANE_STAT_##id,
enum xplane_stat {
	XPLANE_STAT_NONE,
#include "reader/export/xplane_stats.def"
	XPLANE_STATS
};

#define XPLANE_CALLS (1u << 16) /* whose NVTX range is known; a power of two */
#define XPLANE_NVTX "NVTX:"     /* what names of NVTX begin with */
#define XPLANE_ALLOCATOR_BYTES (LANE_NAME_BYTES + 30)
#define XPLANE_OPEN_MAX 4096u /* ranges of a thread at a time: more is no real one */

/* Fields of the messages written. */
enum {
	SPACE_PLANE = 1,
	SPACE_HOSTNAME = 4,
	PLANE_ID = 1,
	PLANE_NAME = 2,
	PLANE_LINE = 3,
	PLANE_EVENT_METADATA = 4,
	PLANE_STAT_METADATA = 5,
	PLANE_STAT = 6,
	LINE_ID = 1,
	LINE_NAME = 2,
	LINE_EVENT = 4,
	EVENT_METADATA = 1,
	EVENT_OFFSET_PS = 2,
	EVENT_DURATION_PS = 3,
	EVENT_STAT = 4,
	STAT_METADATA = 1,
	STAT_DOUBLE = 2,
	STAT_U64 = 3,
	STAT_I64 = 4,
	STAT_TEXT = 5,
	STAT_REF = 7,
	MAP_KEY = 1,
	MAP_VALUE = 2,
	METADATA_ID = 1,
	METADATA_NAME = 2
};

/* A line: the events of a lane. */
struct xplane_line {
	const struct lane *lane;
	struct spool_stream events;
	uint32_t plane;
	uint32_t kinds; /* of device events: a bit for each of line_kinds */
};

enum xplane_use { XPLANE_NAME = 1, XPLANE_VALUE };

/* A plane, and which of the texts it has as names of events, and as values. */
struct xplane_plane {
	bool is_device;
	uint32_t device; /* number */
	uint8_t *uses;   /* bits of enum xplane_use, by number of the text - 1 */
	uint32_t room;
};

/* The last calls, by correlation id: which NVTX range they were made in. */
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
	bool several;       /* processes used devices: correlation ids are told apart */
	struct proto event; /* the one at hand */
	struct spool spool;
	struct xplane_line *lines; /* by number of the lane - 1 */
	uint32_t line_room;
	struct xplane_plane *planes; /* the host's is the first */
	uint32_t plane_count, plane_capacity;
	struct pool texts;
	struct map numbers;
	const char **by_number; /* less 1 */
	uint32_t text_count, text_capacity;
	struct map event_texts; /* number of a name and its domain -> number of the text */
	struct map operations;  /* number of a range's text -> that of its operation */
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
	struct map peaks; /* number of a lane -> index + 1 of its peak */
	int64_t *peak_bytes;
	uint32_t peak_count, peak_capacity;
	int error;
};

/* The number of a text, from 1. 0 = out of memory. */
uint32_t xplane_text(struct xplane *x, const char *text, size_t bytes);

/* The number of what the event is called. 0 = out of memory. */
uint32_t xplane_event_text(struct xplane *x, const struct timeline_item *i);

/* The number of what XProf sums up by (its "tf_op", name:type): of an NVTX range, by the number of
 * its text, the text with '_' for colons, and the domain in letters, digits and '_'; 0 stands for
 * no range. 0 = out of memory. */
uint32_t xplane_operation(struct xplane *x, uint32_t range);

/* What a column of the event says. */
uint64_t xplane_column(const struct timeline_item *i, uint32_t field);

/* The number of the text that describes a kernel, copy or memory set; 0 = another event, or out of
 * memory. */
uint32_t xplane_details(struct xplane *x, const struct timeline_item *i);

/* Of a kernel, in percent: the warps that fit on a multiprocessor at once, of those it can hold. 0
 * where the device is not known. */
double xplane_occupancy(const struct xplane *x, const struct timeline_item *i);

/* What the lane of memory in use is called: those of several processes are told apart. */
void xplane_allocator(
	const struct xplane *x, const struct lane *lane, char out[XPLANE_ALLOCATOR_BYTES]);

/* Takes note of a range of a thread. 0 or -ENOMEM. */
int xplane_range_note(struct xplane *x, const struct timeline_item *i, uint32_t text);

/* The number of the text of the innermost range in which the call was made, or the call that the
 * device's event is of; 0 = none, or not known any more. */
uint32_t xplane_range_of(struct xplane *x, const struct timeline_item *i);

int xplane_texts_init(struct xplane *x); /* 0 or -ENOMEM */
void xplane_texts_release(struct xplane *x);

/* The bit of xplane_line.kinds that stands for the event; 0 = none. */
uint32_t xplane_kind_bit(const struct timeline_item *i);

/* One stat: field EVENT_STAT or PLANE_STAT of the message at hand. */
void xplane_stat_u64(struct proto *p, uint32_t field, enum xplane_stat stat, uint64_t value);
void xplane_stat_i64(struct proto *p, uint32_t field, enum xplane_stat stat, int64_t value);

/* Writes all planes. 0 or a negative errno. */
int xplane_finish(struct xplane *x, FILE *out);

#endif
