/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_lines.h - events from lines of a program's output that a regular expression finds
 * (`trace run --log-events`, `trace export --log-events`).
 *
 * The type of an event is the label of the alternative that matched, else "log"; its fields are the
 * named groups, as numbers where their text is one. Its time is that of the write that completed
 * the line. Lines are put together from the writes of a program image to a stream, in their order:
 * exec ends the last line. Where writes are missing, the line is left out. Output that went
 * elsewhere is not looked at.
 *
 * The pattern is in the report, so it is not trusted: see regex.h. One thread; allocates.
 */
#ifndef READER_EXPORT_GENERIC_LOG_LINES_H
#define READER_EXPORT_GENERIC_LOG_LINES_H

#include <stdbool.h>
#include <stdint.h>

struct sqlite_export;

/* The patterns of reports; all zero = none. */
struct log_patterns {
	struct log_pattern *rows; /* for each report that has one */
	uint32_t count, capacity;
};

/* Keep the pattern of the current report, or that of the job. Returns 0 or -ENOMEM. */
int log_pattern_keep(struct sqlite_export *x);

/* Return whether a report has a pattern, and there is output. */
bool log_lines_wanted(const struct sqlite_export *x);

/* Insert the events into temp.generic (events.c), as far as there is memory. A pattern that is not
 * valid, such as one that was cut because it is too long, finds nothing. */
void log_lines_write(struct sqlite_export *x);

/* Free the patterns. */
void log_patterns_release(struct log_patterns *p);

#endif
