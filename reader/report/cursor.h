/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cursor.h - merge of the events of a report, over all threads and processes, in order of their
 * start.
 *
 * Blocks are stored in the order in which they were written, and a long call is written when it
 * ends; so blocks overlap in time. The cursor keeps the time of the next event of each block, loads
 * the blocks that are due, and merges them. Loaded rows are limited to CURSOR_BYTES_MAX: above it,
 * the block needed last is unloaded, and loaded again when it is due. All other state is 40 bytes
 * per block.
 *
 *   cursor_init(); contents_read() with cursor_add_block() as visitor; cursor_start();
 *   cursor_next() ...; cursor_release()
 *
 * One thread; allocates.
 */
#ifndef READER_REPORT_CURSOR_H
#define READER_REPORT_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/report/contents.h"
#include "reader/report/name_filter.h"

#define CURSOR_BYTES_MAX (256u << 20)

/* Filter of events; 0 and NULL select all. */
struct cursor_filter {
	uint32_t pid, tid, kind;
	uint64_t start_ns, end_ns; /* start_ns <= start of the event < end_ns */
	const char *name; /* shell pattern for the function; events without a function are filtered
			     out */
};

struct event_row {
	const struct schema_event *event;
	const struct process *process;
	uint32_t tid;
	int64_t values[SCHEMA_FIELDS]; /* values by index in event->fields; [0] is the start */
	uint64_t unknown; /* a bit for each index whose value is not known (struct report) */
};

/* Return whether the file that was converted has no value of a column, by its index in
 * event->fields. */
static inline bool event_row_lacks(const struct event_row *row, uint32_t index)
{
	return row->unknown >> index & 1;
}

struct cursor_block {
	uint64_t offset, next_ns;
	uint32_t taken;
	struct cursor_rows *rows; /* NULL = not loaded */
};

struct cursor {
	const struct report *report;
	struct contents *contents;
	struct cursor_filter filter;
	struct cursor_block *blocks; /* heap ordered by next_ns */
	size_t count;
	uint32_t capacity;
	struct report_block block;
	uint64_t loaded_bytes;
	uint64_t loads;     /* number of block loads, for tests and tuning */
	uint64_t bytes_max; /* CURSOR_BYTES_MAX; tests reduce it */
	struct name_filter names;
};

/* Initialize; `report`, `contents` and the pattern of the filter must outlive the cursor. */
void cursor_init(struct cursor *c, const struct report *report, struct contents *contents,
	const struct cursor_filter *filter);
void cursor_release(struct cursor *c);

/* Add a block. Returns 0 or -ENOMEM. */
int cursor_add_block(struct cursor *c, const struct report_block *block);
/* Begin the merge, after the last cursor_add_block(). */
void cursor_start(struct cursor *c);

/* Get the next event. Returns 1, 0 at the end, or a negative errno. */
int cursor_next(struct cursor *c, struct event_row *ret_row);

#endif
