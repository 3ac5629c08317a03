/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xspace.h - an XSpace (.xplane.pb) of whatever profiler: planes, lines and events as they lie in
 * the file.
 *
 * Source: openxla/xla, third_party/tsl/tsl/profiler/protobuf/xplane.proto. The file is held in
 * memory whole, since it is one message; of events nothing else is held. Texts point into it and
 * have no NUL behind them. Every length is checked; fields that are not known are skipped. One
 * thread; allocates.
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

/* A value of a plane or event; a reference is given as the text it stands for. */
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
	uint64_t events;         /* with num_occurrences of those that are sums */
	int64_t total_ps, first_ps,
		last_ps; /* durations; least offset and greatest end: of no event 0 */
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
	int64_t offset_ps, duration_ps; /* the offset is from the line's timestamp */
	const uint8_t *at, *end;
};

struct xspace {
	uint8_t *bytes;
	struct xspace_plane *planes;
	uint32_t plane_count, plane_capacity;
	struct xspace_text *hostnames;
	uint32_t hostname_count, hostname_capacity;
	uint64_t errors, warnings; /* that the producer told */
};

/* Does the file begin as an XSpace does? False also when it cannot be read. */
bool xspace_is(const char *path);

/* 0; -EBADMSG for what is no XSpace or is cut off, or another negative errno. */
int xspace_open(struct xspace *x, const char *path);
void xspace_close(struct xspace *x);

/* The next event of a line: *at is line->at at first. 1, or 0 at the end. */
int xspace_event_next(const struct xspace_plane *plane, const struct xspace_line *line,
	const uint8_t **at, struct xspace_event *ret_event);

/* The next value of a plane (XSPACE_PLANE_STAT) or event (XSPACE_EVENT_STAT) in its message. 1 or
 * 0. */
#define XSPACE_PLANE_STAT 6u
#define XSPACE_EVENT_STAT 4u
int xspace_stat_next(const struct xspace_plane *plane, uint32_t field, const uint8_t **at,
	const uint8_t *end, struct xspace_stat *ret_stat);

bool xspace_text_is(struct xspace_text text, const char *wanted);

#endif
