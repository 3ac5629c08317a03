/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_lines.h - generic events from lines of a program's output (reader/report/log_lines.h).
 *
 * The time of an event is that of the write that completed the line. Exec ends the last line. One
 * thread; allocates.
 */
#ifndef READER_EXPORT_GENERIC_LOG_LINES_H
#define READER_EXPORT_GENERIC_LOG_LINES_H

#include <stdbool.h>
#include <stdint.h>

struct sqlite_export;

/* The patterns of reports, and of those that they were merged from; all zero = none. */
struct log_patterns {
	struct log_pattern *rows;
	uint32_t count, capacity;
	uint32_t first; /* of the current report */
};

/* Keep the patterns of the current report, or that of the job. Returns 0 or -ENOMEM. */
int log_patterns_keep(struct sqlite_export *x);

/* Return the number, from 1, of the pattern for the output of a process of the current report;
 * `merged`: number of the report that it was merged from, 0 = none. 0 = there is no pattern. */
uint32_t log_pattern_number(const struct sqlite_export *x, uint32_t merged);

/* Return whether a report has a pattern, and there is output. */
bool log_lines_wanted(const struct sqlite_export *x);

/* Insert the events into temp.generic (events.c), as far as there is memory. */
void log_lines_write(struct sqlite_export *x);

/* Free the patterns. */
void log_patterns_release(struct log_patterns *p);

#endif
