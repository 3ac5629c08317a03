/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ending.h - the end of a lane whose process has ended: rows for open, nested, summed or missing
 * events, which have no record.
 *
 * The process may have died between two stores, so the same event may also be among the last
 * records of the lane: call ending_is_recorded() before adding a row. One thread.
 */
#ifndef WRITER_LANE_ENDING_H
#define WRITER_LANE_ENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"
#include "writer/base/writer.h"
#include "writer/spool/lanes.h"

/* Maximum number of records that one interrupted step can leave. */
#define ENDING_RECENT (NESTED_RECORDS + OPEN_CALLS + 4u)

struct ending {
	struct writer *w;
	struct spool *spool;
	struct lane_view *view;
	const struct lane *lane; /* address in the spool; valid until the spool is remapped */
	uint64_t end_tick;       /* end of the process */
	struct record recent[ENDING_RECENT]; /* the last slots of the lane, the latest first */
	uint32_t recent_count;
	uint64_t rows, first_ns, last_ns;
};

/* Add the rows of a source for the lane. e->lane is not NULL, and valid until this function itself
 * remaps the spool. */
typedef void lane_end_put(struct ending *e);

/* Initialize `e` for a lane whose process ended at `end_tick`. e->lane is NULL if the lane cannot
 * be read. */
void ending_begin(struct ending *e, struct writer *w, struct spool *spool, struct lane_view *view,
	uint64_t end_tick);

/* Encode the rows into the block. */
void ending_encode(struct ending *e);

/* Return true if a record with this time and kind is among the last records of the lane. */
bool ending_is_recorded(const struct ending *e, uint64_t tick, uint64_t kind);

/* Return true if a thread had the lane when the process ended. A thread that has recorded its end
 * but not yet given back the lane counts as not having it. */
bool ending_has_thread(const struct ending *e);

/* Convert a tick to ns. */
uint64_t ending_ns(const struct ending *e, uint64_t tick);

/* Add a row at time `ns`: all other columns are 0 until batch_set(). */
struct batch *ending_row_add(struct ending *e, enum event_kind kind, uint64_t ns);

/* Raise the last time of the rows to `end_ns`, the end of the row that was just added. */
static inline void ending_note_end(struct ending *e, uint64_t end_ns)
{
	if (end_ns > e->last_ns)
		e->last_ns = end_ns;
}

/* Return the counts of the process that the events belong to. */
static inline struct tally *ending_tally(struct ending *e)
{
	return e->view->owner ? &e->view->guest : &e->view->own;
}

#endif
