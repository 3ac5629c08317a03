/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xspace.h - reader for an XSpace (.xplane.pb) of any profiler: planes, lines and events.
 *
 * Format: openxla/xla, third_party/tsl/tsl/profiler/protobuf/xplane.proto. The whole file is in
 * memory, because it is one message; nothing else is stored per event. Texts point into it and
 * have no terminating NUL. Every length is checked; unknown fields are skipped. One thread;
 * allocates.
 */
#ifndef READER_XSPACE_XSPACE_H
#define READER_XSPACE_XSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xspace_text {
	const char *text; /* NULL = "" */
	size_t bytes;
};

struct xspace_name {
	int64_t id;
	struct xspace_text text;
};

struct xspace_names {
	struct xspace_name *rows; /* by id */
	uint32_t count, capacity;
};

enum xspace_kind { XSPACE_NONE, XSPACE_REAL, XSPACE_U64, XSPACE_I64, XSPACE_TEXT, XSPACE_BYTES };

/* A value of a plane or event; a reference is resolved to its text. */
struct xspace_stat {
	struct xspace_text name;
	enum xspace_kind kind;
	double real;
	uint64_t number;
	struct xspace_text text;
};

struct xspace_line {
	int64_t id, timestamp_ns;
	struct xspace_text name;
	const uint8_t *at, *end; /* the message */
	uint64_t events;         /* events, including num_occurrences of aggregated events */
	int64_t total_ps, first_ps,
		last_ps; /* total duration, least offset, greatest end; 0 without events */
};

struct xspace_plane {
	int64_t id;
	struct xspace_text name;
	const uint8_t *at, *end;
	struct xspace_names event_names, stat_names;
	struct xspace_line *lines;
	uint32_t line_count, line_capacity;
};

struct xspace_event {
	struct xspace_text name;
	int64_t offset_ps, duration_ps; /* offset from the timestamp of the line */
	const uint8_t *at, *end;
};

struct xspace {
	uint8_t *bytes;
	struct xspace_plane *planes;
	uint32_t plane_count, plane_capacity;
	struct xspace_text *hostnames;
	uint32_t hostname_count, hostname_capacity;
	uint64_t errors, warnings; /* reported by the producer */
};

/* Return true if the file begins like an XSpace; false also if it cannot be read. */
bool xspace_is(const char *path);

/* Open and index an XSpace. Returns 0; -EBADMSG if it is not an XSpace or is truncated; or another
 * negative errno. */
int xspace_open(struct xspace *x, const char *path);
/* Free all that xspace_open() allocated. */
void xspace_close(struct xspace *x);

/* Return the next event of a line; set *at to line->at first. Returns 1, or 0 at the end. */
int xspace_event_next(const struct xspace_plane *plane, const struct xspace_line *line,
	const uint8_t **at, struct xspace_event *ret_event);

/* Return the next value in the message of a plane (XSPACE_PLANE_STAT) or event (XSPACE_EVENT_STAT).
 * Returns 1, or 0 at the end. */
#define XSPACE_PLANE_STAT 6u
#define XSPACE_EVENT_STAT 4u
int xspace_stat_next(const struct xspace_plane *plane, uint32_t field, const uint8_t **at,
	const uint8_t *end, struct xspace_stat *ret_stat);

/* Return true if the text equals `wanted`. */
bool xspace_text_is(struct xspace_text text, const char *wanted);

#endif
