/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranges.h - records of NVTX: marks, ranges of push and pop, ranges of start and end, names.
 *
 * A range is recorded as one record, when it ends. Until then the range is stored in the spool:
 * pushed ranges in memory of the thread's lane, started ranges in a table of the process, since any
 * thread may end them. The writer closes the ranges that a dead process left open. Marks and ranges
 * make no system call, take no lock and allocate nothing, but for the first range of a thread and
 * the first use of a name. All functions leave errno alone. Any thread, also in signal handlers. A
 * domain is NULL for the default one.
 */
#ifndef TRACER_NVTX_RANGES_H
#define TRACER_NVTX_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"
#include "tracer/core/names.h"

enum nvtx_text_kind {
	NVTX_TEXT_NONE = 0,
	NVTX_TEXT_CHARS, /* char, in any encoding */
	NVTX_TEXT_WIDE,  /* wchar_t, converted to UTF-8 */
	NVTX_TEXT_NAME   /* struct name */
};

struct nvtx_event {
	struct nvtx_attributes attributes;
	bool has_attributes; /* false = the attributes are not read */
	enum nvtx_text_kind kind;
	const void *text; /* NULL = none */
};

/* NAMED rows of schema/events.def. */
enum nvtx_what {
#define NAMED(number, id, name) NVTX_NAMED_##id = number,
#include "common/schema/events.def"
};

/* PAYLOAD rows. */
enum nvtx_payload {
#define PAYLOAD(number, id, name) NVTX_VALUE_##id = number,
#include "common/schema/events.def"
};

/* Results of a failed push or pop: no range is open, or nothing is recorded. */
#define NVTX_NOT_OPEN (-1)
#define NVTX_NOT_TRACED (-2)

/* Record a mark, if the gate is open. */
void nvtx_mark(struct name *domain, const struct nvtx_event *event);

/* Push a range. Return its level, counted from 0 for each thread and domain, or NVTX_NOT_TRACED. */
int nvtx_push(struct name *domain, const struct nvtx_event *event);

/* Pop the innermost range of the domain. Return its level, or NVTX_NOT_OPEN, NVTX_NOT_TRACED. */
int nvtx_pop(struct name *domain);

/* Attributes that a range gets at its end; they replace those of its start. */
struct nvtx_ending {
	uint64_t tick;     /* the time of its end */
	uint64_t payload;  /* id of an extended payload; 0 = unchanged */
	struct name *text; /* NULL = unchanged */
	bool has_category, has_color;
	uint32_t category, color;
};

/* End the innermost range of the domain, or the range with the id, with new attributes. */
int nvtx_pop_with(struct name *domain, const struct nvtx_ending *ending);
void nvtx_end_with(uint64_t id, const struct nvtx_ending *ending);

/* Return the id of the extended payload of that range; 0 = none. */
uint64_t nvtx_pop_payload(struct name *domain);
uint64_t nvtx_end_payload(uint64_t id);

/* Start a range that any thread may end. Return its id, never 0. */
uint64_t nvtx_start(struct name *domain, const struct nvtx_event *event);
void nvtx_end(uint64_t id);

/* Return the domain or registered string of this text. NULL without memory. */
struct name *nvtx_domain(enum nvtx_text_kind kind, const void *text);
struct name *nvtx_string(struct name *domain, enum nvtx_text_kind kind, const void *text);

/* Record the name of a category, thread or resource: see struct nvtx_named. */
void nvtx_named(enum nvtx_what what, struct name *domain, uint64_t id, uint32_t type,
	enum nvtx_text_kind kind, const void *text);

/* Return true if NVTX is recorded in this process. */
bool nvtx_is_on(void);

/* Return true if this domain is recorded, even while the gate is closed. */
bool nvtx_domain_is_on(const struct name *domain);

#endif
