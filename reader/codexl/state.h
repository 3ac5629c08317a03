/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - state of a file of CodeXL while it is read: the current section, thread and columns.
 *
 * Belongs to struct codexl_file; used only inside reader/codexl/.
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
	uint32_t cursor[3];   /* call of the last line, its index + 1, in the sections calls, times,
				 stack */
	uint64_t marker_ns;   /* latest end of a marker */
	uint32_t open_marker; /* innermost one, its index + 1 */
};

struct codexl_state {
	enum codexl_section section;
	bool is_opencl;   /* of the section */
	bool wants_count; /* the last line was a thread id: a number of lines follows */
	uint32_t tid;
	uint64_t left, told;  /* lines of the block: still expected; announced */
	uint32_t told_at;     /* the line that announced them */
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

/* Append an element, all zero, to an array of codexl_file or codexl_state; its address is valid
 * until the next is added. NULL = out of memory, or too many. */
#define CODEXL_ADD(array)                                                                   \
	((array).count >= CODEXL_ROWS_MAX ||                                                \
				array_room(&(array).rows, (array).count, &(array).capacity, \
					sizeof(*(array).rows))                              \
			? NULL                                                              \
			: memset(&(array).rows[(array).count++], 0, sizeof(*(array).rows)))

#endif
