/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_lines.h - events from lines of a program's output that a regular expression finds
 * (`trace run --log-events`, `trace export --log-events`).
 *
 * The type of an event is the label of the alternative that matched, else "log"; its fields are the
 * named groups, as numbers where their text is one. Lines are put together from the writes of a
 * program image to a stream, in their order. Where writes are missing, the line is left out. Output
 * that went elsewhere is not looked at.
 *
 * The pattern is in the report, so it is not trusted: see regex.h. One thread; allocates.
 */
#ifndef READER_REPORT_LOG_LINES_H
#define READER_REPORT_LOG_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/base/regex.h"
#include "reader/report/contents.h"

/* A stream of a program image, as far as it was written; all zero = nothing was. */
struct log_stream {
	bool is_begun, is_incomplete; /* incomplete: the start of the line is missing */
	uint64_t position;            /* of the next write */
	uint32_t bytes;               /* of the line */
	char line[REGEX_TEXT_MAX];
};

/* An event. The texts are valid while it is passed. */
struct log_event {
	const char *type;
	uint32_t type_bytes;
	const char *fields; /* a JSON object */
	size_t fields_bytes;
};

struct log_search {
	struct regex *regex; /* NULL = the pattern is not valid: nothing is found */
	void (*found)(void *user, const struct log_event *event);
	void *user;
};

/* Return the pattern that a report was recorded with, or the merged report with this number from 1;
 * NULL = none. */
const char *log_pattern(const struct contents *c, uint32_t number);

/* Compile the pattern, which must live as long as the search. A pattern that is not valid, such as
 * one that was cut because it is too long, finds nothing. */
void log_search_begin(struct log_search *s, const char *pattern);
void log_search_end(struct log_search *s);

/* Add a write of `size` bytes at `position` of a stream, and look at the lines that it completes.
 * `text` NULL = it went elsewhere. */
void log_write(struct log_search *s, struct log_stream *stream, uint64_t position, uint64_t size,
	const char *text, size_t bytes);

/* Look at the last line of a stream, which has no line end, and forget the stream. */
void log_stream_end(struct log_search *s, struct log_stream *stream);

#endif
