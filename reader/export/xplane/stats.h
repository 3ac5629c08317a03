/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - stats of an XSpace, and the field numbers of its messages. Any thread, each with its
 * own message.
 */
#ifndef READER_EXPORT_XPLANE_STATS_H
#define READER_EXPORT_XPLANE_STATS_H

#include "reader/export/proto.h"

#define STAT(id, name) XPLANE_STAT_##id,
enum xplane_stat {
	XPLANE_STAT_NONE,
#include "reader/export/xplane/stats.def"
	XPLANE_STATS
};

/* Field numbers of the messages written. */
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

/* Return the name of a stat, "" for XPLANE_STAT_NONE. */
const char *xplane_stat_name(enum xplane_stat stat);

/* Append a stat to the message being written; `field` is EVENT_STAT or PLANE_STAT. */
void xplane_stat_u64(struct proto *p, uint32_t field, enum xplane_stat stat, uint64_t value);
void xplane_stat_i64(struct proto *p, uint32_t field, enum xplane_stat stat, int64_t value);

#endif
