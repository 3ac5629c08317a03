/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment.h - conversion of the records of one chunk to rows: the state that drain.c advances and
 * that sources use to add the rows of their records.
 *
 * A segment ends with its batches encoded and its position in the block, so a block may be written
 * between any two segments. A spool is hostile input, and its process may change a record while it
 * is read: two reads of the same record are not assumed to be equal. One thread.
 */
#ifndef WRITER_LANE_SEGMENT_H
#define WRITER_LANE_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"
#include "writer/base/writer.h"
#include "writer/spool/lanes.h"

#define MASK_48 ((UINT64_C(1) << 48) - 1)

struct segment {
	struct writer *w;
	struct spool *spool;
	struct lane_view *view;
	const struct record *records; /* records of the chunk; NULL = it is no longer in the file */
	uint64_t offset;              /* offset of the chunk in the spool */
	uint32_t at, end;             /* slots: current record, end of the segment */
	uint32_t run;                 /* slot of the first record that is not encoded */
	uint32_t overhead;            /* slots from `run` on that are not events */
	uint32_t callchain;           /* callchain of the next event; 0 = none */
	uint32_t callchain_method;
	bool monotonic; /* ticks are ns */
	int error;      /* the block is full and cannot be written, so the record is read again */
	uint64_t least_tick, most_tick, latest_tick;
};

/* The record at s->at. The pointers refer to the spool, and are valid until it is remapped. */
struct record_at {
	const struct record *r;
	const uint8_t *payload; /* `bytes` of the payload are in the chunk */
	uint32_t kind, bytes;
	uint32_t slots; /* slots of record and payload */
};

/*
 * Add the rows of the record. Return the number of slots that it takes: at->slots, or more if the
 * records after it were added, too. Return 0 if this cannot be a record of its kind, or s->error
 * is set. Slots that are not events are added to s->overhead, except those of the record's own
 * payload. A function that may remap the spool calls segment_reload() before it returns.
 */
typedef uint32_t record_put(struct segment *s, const struct record_at *at);

/* Return the counts of the process of these events. */
static inline struct tally *segment_tally(struct segment *s)
{
	return s->view->owner ? &s->view->guest : &s->view->own;
}

/* Convert a tick to ns. */
uint64_t segment_ns(struct segment *s, uint64_t tick);

/* Add a row at time `ns`: all other columns are 0 until batch_set(). Use it for rare kinds only. */
struct batch *segment_row_add(struct segment *s, enum event_kind kind, uint64_t ns);

/* Raise the last time of the rows to `end_ns`, the end of the row that was just added. */
static inline void segment_note_end(struct segment *s, uint64_t end_ns)
{
	if (end_ns > s->w->rows.last_ns)
		s->w->rows.last_ns = end_ns;
}

/* Encode the rows that were added. Their records end at `slot`. */
void segment_run_end(struct segment *s, uint32_t slot);

/* Write the block if it is full; its events end at s->at. Return false, with s->error, if it
 * cannot be written. May remap the spool, and then reloads s->records. */
bool segment_cut(struct segment *s);

/* Set s->records again, after the spool may have been remapped. */
static inline void segment_reload(struct segment *s)
{
	s->records = spool_at(s->spool, s->offset, CHUNK_BYTES);
}

/* Store position and counts of a lane in the block. */
void lane_mark(struct writer *w, struct spool *spool, struct lane_view *view);

/* Encode rows that the writer itself has collected, if there are any: events of the spool's process
 * that no record of the lane stands for. `tid` 0: of the process. The rows are in order of time. */
void lane_rows_put(struct writer *w, struct spool *spool, struct lane_view *view, struct batch *b,
	uint32_t tid, uint64_t first_ns, uint64_t last_ns);

#endif
