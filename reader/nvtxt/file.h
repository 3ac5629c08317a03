/*
 * file.h - what an NVTXT file says, line by line: its events as they stand there, and what is wrong
 * with it.
 *
 * The language is that of NVIDIA's NVTXT page, and where NVIDIA's importer takes more, that too. A
 * line with an error is left out and told; the others count. What NVIDIA's importer would refuse
 * or leave out is told as such, and taken.
 *
 *   nvtxt_file_init(); nvtxt_file_line() for each line, or nvtxt_file_read(); resolve.h makes
 * events of a report of it; nvtxt_file_release()
 *
 * One thread; allocates. Memory follows the number of events and of different texts.
 */
#ifndef READER_NVTXT_FILE_H
#define READER_NVTXT_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/nvtxt/note.h"
#include "reader/nvtxt/words.h"
#include "reader/pool.h"

#define NVTXT_IDS_MAX 16777215u /* of processes and threads: 24 bits, as in global ids of nsys */

enum nvtxt_problem_kind {
	NVTXT_LEXING_ERROR,  /* not a word of the language */
	NVTXT_PARSING_ERROR, /* not a sentence of it */
	NVTXT_RANGE_ERROR,   /* a value that cannot be */
	NVTXT_WARNING,       /* taken, though hardly what was meant */
	NVTXT_REFUSED,       /* taken; NVIDIA's importer would refuse the file */
	NVTXT_IGNORED,       /* taken; NVIDIA's importer would leave it out */
	NVTXT_PROBLEM_KINDS
};

struct nvtxt_problem {
	enum nvtxt_problem_kind kind;
	uint32_t line, column; /* from 1; columns are bytes */
	const char *text;      /* valid until the call returns */
};

enum nvtxt_event_kind {
	NVTXT_EVENT_NONE, /* taken back: a pop that has its push */
	NVTXT_EVENT_MARK,
	NVTXT_EVENT_PUSH, /* and, when resolved, the whole range */
	NVTXT_EVENT_POP,
	NVTXT_EVENT_RANGE,
	NVTXT_EVENT_NAME /* of `what`, a NAMED row */
};

struct nvtxt_event {
	enum nvtxt_event_kind kind;
	uint32_t line, column;
	uint32_t base;      /* place of its time base in `bases` */
	int64_t start, end; /* as in the file; end: of a range */
	uint32_t process, thread, category, color;
	uint32_t payload_type; /* PAYLOAD row */
	uint64_t payload;
	uint32_t flags, level; /* enum record_flag */
	bool has_level;
	uint32_t start_thread;     /* of a range */
	uint32_t what, type;       /* of a name: NAMED row; class of a resource */
	uint64_t identifier;       /* of a range: its id; of a name: what is named */
	const char *domain, *text; /* in the pool; NULL = none */
};

#define NVTXT_BASES_MAX 16u

struct nvtxt_file {
	struct pool *pool;        /* not the file's own: several may share one */
	const char *display_name; /* NULL = not said */
	struct nvtxt_event *events;
	uint32_t count, capacity;
	const char *bases[NVTXT_BASES_MAX];
	uint32_t base_count;
	bool is_ours;       /* `trace export` wrote it */
	uint64_t origin_ns; /* its times count from there */
	uint64_t bytes;     /* read from a descriptor, and their CRC-32C */
	uint32_t crc;
	uint64_t problems[NVTXT_PROBLEM_KINDS];
	uint32_t line;
	uint64_t understood; /* lines that say something and have no error */
	bool broken;         /* memory was short */
	struct nvtxt_state *state;
	void (*problem)(void *user, const struct nvtxt_problem *problem); /* may be NULL */
	void *user;
};

/* 0 or -ENOMEM. */
int nvtxt_file_init(struct nvtxt_file *f, struct pool *pool);
void nvtxt_file_release(struct nvtxt_file *f);

/* The next line, without its end. 0, or -ENOMEM, -EOVERFLOW (too many events). */
int nvtxt_file_line(struct nvtxt_file *f, const char *line, size_t bytes);

/* All lines of the descriptor, which stays open: 0 or a negative errno, as lines_read(). */
int nvtxt_file_read(struct nvtxt_file *f, int fd);

/* Tells and counts a problem. */
__attribute__((format(printf, 5, 6))) void nvtxt_file_tell(struct nvtxt_file *f,
	enum nvtxt_problem_kind kind, uint32_t line, uint32_t column, const char *format, ...);

/* Errors of all three kinds. */
uint64_t nvtxt_file_errors(const struct nvtxt_file *f);

#endif
