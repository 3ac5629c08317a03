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

#define CODEXL_ROWS_MAX (1u << 28) /* maximum number of rows of a kind */
#define CODEXL_COLUMNS_MAX 4096u   /* columns of a table */
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
	uint32_t cursor[3];   /* for each section (calls, times, stack): index + 1 of the call
			       * of the last line */
	uint64_t marker_ns;   /* latest end of a marker */
	uint32_t open_marker; /* index + 1 of the innermost open marker */
};

struct codexl_state {
	enum codexl_section section;
	bool is_opencl;   /* API of the section */
	bool wants_count; /* the last line was a thread id: a number of lines follows */
	uint32_t tid;
	uint64_t left, announced; /* lines of the block that are still expected; lines announced */
	uint32_t announced_at;    /* number of the line that announced them */
	bool has_queue_index;     /* kernel lines have this column since version 3.2 */
	CODEXL_ARRAY(thread) threads;
	struct map thread_ids;    /* section, tid -> index + 1 */
	struct map device_ids;    /* name -> index + 1 */
	struct map marker_depths; /* tid, group -> open markers + 1 */
	uint32_t device_count;
	/* columns of a table */
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
