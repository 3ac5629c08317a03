/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx.h - what the program tells by NVTX becomes records: marks, ranges of push and pop, ranges of
 * start and end, names.
 *
 * A range is recorded whole, when it ends. Until then it lies in the spool: pushed ones in memory
 * of the thread's lane, started ones in a table of the process, since any thread may end them; the
 * writer closes what a dead process left there. Marks and ranges make no system call, take no lock
 * and allocate nothing, but for the first range of a thread and the first use of a name; all
 * functions leave errno alone. Any thread, from signal handlers, too.
 */
#ifndef TRACER_NVTX_H
#define TRACER_NVTX_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"
#include "tracer/names.h"

struct thread;

enum nvtx_text_kind {
	NVTX_TEXT_NONE = 0,
	NVTX_TEXT_CHARS, /* char, whatever they are */
	NVTX_TEXT_WIDE,  /* wchar_t: becomes UTF-8 */
	NVTX_TEXT_NAME   /* struct name */
};

struct nvtx_event {
	struct nvtx_attributes attributes;
	bool has_attributes; /* else they are not looked at */
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

/* What push and pop return when they fail: nothing was open, or nothing is recorded at all. */
#define NVTX_NOT_OPEN (-1)
#define NVTX_NOT_TRACED (-2)

void nvtx_mark(struct name *domain, const struct nvtx_event *event);

/* Level of the range, counted from 0 for each thread and domain. */
int nvtx_push(struct name *domain, const struct nvtx_event *event);

/* Level of the range that ended. */
int nvtx_pop(struct name *domain);

/* What a range gets when it ends, in place of what it began with. */
struct nvtx_ending {
	uint64_t tick;     /* when it ended */
	uint64_t payload;  /* id of an extended one; 0 = as it was */
	struct name *text; /* NULL = as it was */
	bool has_category, has_color;
	uint32_t category, color;
};

/* Ends the range of the thread or with the id. */
int nvtx_pop_with(struct name *domain, const struct nvtx_ending *ending);
void nvtx_end_with(uint64_t id, const struct nvtx_ending *ending);

/* Id of the extended payload that this range has; 0 = none. */
uint64_t nvtx_pop_payload(struct name *domain);
uint64_t nvtx_end_payload(uint64_t id);

/* Its id, never 0. */
uint64_t nvtx_start(struct name *domain, const struct nvtx_event *event);
void nvtx_end(uint64_t id);

/* Domain or registered string of this text. NULL without memory. */
struct name *nvtx_domain(enum nvtx_text_kind kind, const void *text);
struct name *nvtx_string(struct name *domain, enum nvtx_text_kind kind, const void *text);

/* Something gets a name: see struct nvtx_named. */
void nvtx_named(enum nvtx_what what, struct name *domain, uint64_t id, uint32_t type,
	enum nvtx_text_kind kind, const void *text);

/* Is anything recorded in this process? */
bool nvtx_is_on(void);

/* Of this domain? Whatever the gate says now. */
bool nvtx_domain_is_on(const struct name *domain);

/* Closes the ranges that an ending thread leaves open. Owning thread, thread.busy set. */
void nvtx_detach(struct thread *t);

/* A forked child: the ranges and names were its parent's. */
void nvtx_forked(void);

#endif
