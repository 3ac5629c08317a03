/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.h - state of copying one report into a merged one: its ids and its clock.
 *
 * One thread; allocates.
 */
#ifndef READER_MERGE_COPY_H
#define READER_MERGE_COPY_H

#include "reader/merge/merge.h"

struct copy {
	struct merge *m;
	const struct merge_input *in;
	uint32_t number;             /* of the report */
	const struct clock_map *map; /* NULL = times do not change */
	struct map texts;            /* id in the report -> id in the merged one */
	struct map processes;
	uint64_t windows;            /* added to numbers of windows */
	struct buffer batch, column; /* being encoded */
	int64_t *starts, *values;    /* columns of a batch */
};

/* Convert a time; 0 = not known stays 0. */
static inline uint64_t copy_time(const struct copy *c, uint64_t ns)
{
	return ns && c->map ? (uint64_t)clock_map_time(c->map, (int64_t)ns) : ns;
}

/* Return the id of a text in the merged report; 0 = none. */
static inline uint32_t copy_text(const struct copy *c, uint64_t id)
{
	return id && id <= UINT32_MAX ? map_get(&c->texts, id, 0) : 0;
}

/* Return the id of a process in the merged report; 0 for 0, and if memory or ids are exhausted. */
uint32_t copy_process(struct copy *c, uint32_t id);

/* Add a batch of events. Returns 0, -EBADMSG with the cause, or -ENOMEM. */
int copy_batch(struct copy *c, const struct report_entry *e, const char **ret_cause);

#endif
