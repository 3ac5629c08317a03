/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.h - conversion of records of a lane to rows of batches, a chunk at a time.
 *
 * Functions return 0 or a negative errno as writer_flush() does: the block is kept, so call again
 * later. No function allocates per call. One thread.
 */
#ifndef WRITER_DRAIN_H
#define WRITER_DRAIN_H

#include <stdint.h>

struct lane_view;
struct spool;
struct writer;

/* Add the records before view->head to blocks, chunk by chunk, until at least `bytes` were read. An
 * invalid record marks the lane damaged. */
int lane_drain(struct writer *w, struct spool *spool, struct lane_view *view, uint64_t bytes);

/* Add rows for everything that has no record: calls and ranges still open, nested records, sums, an
 * open gap, the end of the thread. Call it once, when the process has ended (at `end_tick`) and the
 * lane is drained. */
int lane_finish(struct writer *w, struct spool *spool, struct lane_view *view, uint64_t end_tick);

#endif
