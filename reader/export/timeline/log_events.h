/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_events.h - events from lines of output (reader/report/log_lines.h) as moments of a timeline.
 *
 * Memory: a line for each stream that was written to, and the patterns. One thread; allocates.
 */
#ifndef READER_EXPORT_TIMELINE_LOG_EVENTS_H
#define READER_EXPORT_TIMELINE_LOG_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/base/map.h"
#include "reader/report/cursor.h"
#include "reader/report/log_lines.h"

/* An event that was found: two terminated texts, which the owner frees together. */
struct log_moment {
	char *type, *fields;
};

struct log_moments {
	struct map search_numbers, stream_numbers;
	struct log_search **searches; /* for each pattern; by number less 1 */
	uint32_t search_count, search_capacity;
	struct log_output **outputs; /* for each stream of a program image; by number less 1 */
	uint32_t output_count, output_capacity;
	struct log_moment *found; /* of the last write */
	uint32_t found_count, found_capacity, taken;
	uint32_t ended;       /* outputs that were ended */
	bool failed;          /* no memory */
	struct event_row row; /* the write that found them */
};

/* Look at the lines that a row completes, if it is a write. Returns 0 or -ENOMEM. */
int log_moments_write(
	struct log_moments *l, const struct contents *contents, const struct event_row *row);

/* Look at the last line of the next stream that has none of its events passed yet. Returns false if
 * there is no further stream. */
bool log_moments_end(struct log_moments *l);

/* Return the next event that was found, whose row is l->row; NULL = there is none. */
const struct log_moment *log_moments_next(struct log_moments *l);

void log_moments_release(struct log_moments *l);

#endif
