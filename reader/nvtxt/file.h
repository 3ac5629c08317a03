/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - events of an NVTXT file, with the times of the file, and the problems found in it.
 *
 * The language is described on NVIDIA's NVTXT page; anything else that NVIDIA's importer accepts is
 * also accepted. A line with an error is reported and skipped. A line that NVIDIA's importer would
 * refuse or drop is reported as such and accepted.
 *
 *   nvtxt_file_init(); nvtxt_file_line() for each line, or nvtxt_file_read() (parse.h);
 *   nvtxt_resolve() converts to events of a report (resolve.h); nvtxt_file_release()
 *
 * One thread; allocates. Memory grows with the number of events and of distinct texts.
 */
#ifndef READER_NVTXT_FILE_H
#define READER_NVTXT_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/base/pool.h"
#include "reader/nvtxt/note.h"
#include "reader/nvtxt/words.h"

/* limit of process and thread ids: 24 bits, as in global ids of nsys */
#define NVTXT_IDS_MAX 16777215u

enum nvtxt_problem_kind {
	NVTXT_LEXING_ERROR,  /* not a token of the language */
	NVTXT_PARSING_ERROR, /* not a statement of the language */
	NVTXT_RANGE_ERROR,   /* a value out of range */
	NVTXT_WARNING,       /* accepted, though probably not intended */
	NVTXT_REFUSED,       /* accepted; NVIDIA's importer would refuse the file */
	NVTXT_IGNORED,       /* accepted; NVIDIA's importer would drop it */
	NVTXT_PROBLEM_KINDS
};

struct nvtxt_problem {
	enum nvtxt_problem_kind kind;
	uint32_t line, column; /* numbers from 1; columns are counted in bytes */
	const char *text;      /* valid until the call returns */
};

enum nvtxt_event_kind {
	NVTXT_EVENT_NONE, /* a removed event: a pop that ended its push */
	NVTXT_EVENT_MARK,
	NVTXT_EVENT_PUSH, /* after nvtxt_resolve(), a whole range */
	NVTXT_EVENT_POP,
	NVTXT_EVENT_RANGE,
	NVTXT_EVENT_NAME /* `what` is the number of the NAMED row */
};

struct nvtxt_event {
	enum nvtxt_event_kind kind;
	uint32_t line, column;
	uint32_t base;      /* index of its time base in `bases` */
	int64_t start, end; /* times as in the file; `end`: of a range */
	uint32_t process, thread, category, color;
	uint32_t payload_type; /* number of a PAYLOAD row */
	uint64_t payload;
	uint32_t flags, level; /* enum record_flag */
	bool has_level;
	uint32_t start_thread;     /* thread that started a range */
	uint32_t what, type;       /* for a name: number of a NAMED row; class of a resource */
	uint64_t identifier;       /* id of a range, or of a named object */
	const char *domain, *text; /* texts in the pool; NULL = none */
};

#define NVTXT_BASES_MAX 16u

struct nvtxt_file {
	struct pool *pool;        /* owned by the caller: several files may share a pool */
	const char *display_name; /* NULL = none */
	struct nvtxt_event *events;
	uint32_t count, capacity;
	const char *bases[NVTXT_BASES_MAX];
	uint32_t base_count;
	bool is_ours;       /* the file was written by `trace export` */
	uint64_t origin_ns; /* origin of its times */
	uint64_t bytes;     /* number of bytes read from a descriptor, and their CRC-32C */
	uint32_t crc;
	uint64_t problems[NVTXT_PROBLEM_KINDS];
	uint32_t line;
	uint64_t understood; /* lines with a statement and no error */
	bool broken;         /* out of memory, or too many events */
	struct nvtxt_state *state;
	void (*problem)(void *user, const struct nvtxt_problem *problem); /* may be NULL */
	void *user;
};

/* Initialize an empty file whose texts are kept in `pool`, which must outlive it. Returns 0 or
 * -ENOMEM. */
int nvtxt_file_init(struct nvtxt_file *f, struct pool *pool);
void nvtxt_file_release(struct nvtxt_file *f);

/* Append a copy of an event. Sets f->broken when out of memory or when there are too many. */
void nvtxt_event_add(struct nvtxt_file *f, const struct nvtxt_event *event);

/* Count a problem and report it to f->problem. */
__attribute__((format(printf, 5, 6))) void nvtxt_file_problem(struct nvtxt_file *f,
	enum nvtxt_problem_kind kind, uint32_t line, uint32_t column, const char *format, ...);

/* Return the number of lexing, parsing and range errors. */
uint64_t nvtxt_file_errors(const struct nvtxt_file *f);

#endif
