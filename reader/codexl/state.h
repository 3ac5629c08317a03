/*
 * state.h - what the lines of a file of CodeXL have said so far, and how lines are taken apart:
 * inside of reader/codexl/.
 */
#ifndef READER_CODEXL_STATE_H
#define READER_CODEXL_STATE_H

#include <errno.h>
#include <string.h>

#include "common/array.h"
#include "reader/codexl/file.h"

#define CODEXL_ROWS_MAX (1u << 28) /* of a kind */
#define CODEXL_COLUMNS_MAX 4096u   /* of a table */
#define CODEXL_TID_MAX 16777215u   /* 24 bits, as in global ids of nsys */

enum codexl_section {
	SECTION_HEADER,
	SECTION_CALLS,
	SECTION_TIMES,
	SECTION_STACK,
	SECTION_KERNELS,
	SECTION_MARKERS,
	SECTION_UNKNOWN
};

/* The calls of a thread in the sections of one API. */
struct codexl_thread {
	uint32_t first, last; /* indices + 1 */
	uint32_t cursor[3];   /* the call that the last line of a section was of, its index + 1:
				 calls, times, stack */
	uint64_t marker_ns;   /* the last end */
	uint32_t open_marker; /* index + 1 */
};

struct codexl_state {
	enum codexl_section section;
	bool is_opencl;   /* of the section */
	bool wants_count; /* a thread's id was the last line */
	uint32_t tid;
	uint64_t left, told;  /* lines of the block: still to come, all */
	uint32_t told_at;     /* line of that number */
	bool has_queue_index; /* of kernels: since version 3.2 */
	CODEXL_ARRAY(thread) threads;
	struct map thread_ids;    /* section, tid -> index + 1 */
	struct map device_ids;    /* name -> index + 1 */
	struct map marker_depths; /* tid, group -> open markers + 1 */
	uint32_t device_count;
	/* of a table */
	const char *columns[CODEXL_COLUMNS_MAX];
	uint32_t column_count;
	char separator;
};

/* Ends the reading: -EBADMSG. */
__attribute__((format(printf, 2, 3))) int codexl_wrong(
	struct codexl_file *f, const char *format, ...);

/* One more element, all zero, of an array of codexl_file or codexl_state: its address until the
 * next one is added. NULL = memory has run out, or there are too many. */
#define CODEXL_ADD(array)                                                                   \
	((array).count >= CODEXL_ROWS_MAX ||                                                \
				array_room(&(array).rows, (array).count, &(array).capacity, \
					sizeof(*(array).rows))                              \
			? NULL                                                              \
			: memset(&(array).rows[(array).count++], 0, sizeof(*(array).rows)))

/* Words of a line, divided by blanks. */
struct codexl_words {
	const char *at, *end;
};

struct codexl_word {
	const char *at;
	size_t bytes; /* 0 = there are no more */
};

struct codexl_word codexl_word(struct codexl_words *w);

/* What is left, without blanks around it. */
struct codexl_word codexl_rest(const struct codexl_words *w);

/* In the pool, &nbsp; and, where that is asked for, &comma; decoded. NULL = out of memory. */
const char *codexl_text(struct codexl_file *f, struct codexl_word word);
const char *codexl_decoded(struct codexl_file *f, struct codexl_word word, bool commas);

/* A decimal number up to `most`; a handle: hex digits behind 0x, or NULL. False = it is none. */
bool codexl_number(struct codexl_word word, uint64_t most, uint64_t *ret_number);
bool codexl_handle(struct codexl_word word, uint64_t *ret_handle);

/* Groups and their sizes of `{x,y,z}` texts. All of them 0 where those are not numbers. */
void codexl_sizes(struct codexl_word global, struct codexl_word group, struct codexl_sizes *ret);

/* Devices are numbered by their names. 0 or -ENOMEM. */
int codexl_device(struct codexl_file *f, const char *name, uint32_t *ret_id);

/* The thread's entry; NULL = out of memory. */
struct codexl_thread *codexl_thread(struct codexl_file *f, bool is_opencl, uint32_t tid);

/* A line of a timeline's section, of a table. 0 or a negative errno. */
int codexl_timeline_line(struct codexl_file *f, struct codexl_words line);
int codexl_timeline_end(struct codexl_file *f);
int codexl_call_line(struct codexl_file *f, struct codexl_words line);
int codexl_time_line(struct codexl_file *f, struct codexl_words line);
int codexl_stack_line(struct codexl_file *f, struct codexl_words line);
int codexl_kernel_line(struct codexl_file *f, struct codexl_words line);
int codexl_marker_line(struct codexl_file *f, struct codexl_words line);
int codexl_table_line(struct codexl_file *f, struct codexl_words line);
int codexl_table_end(struct codexl_file *f);

/* Splits at the first `=`, and keeps both parts. 0, -EBADMSG, -ENOMEM. */
int codexl_header_line(struct codexl_file *f, struct codexl_words line);

#endif
