/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment.h - a stretch of records of one chunk on its way into batches: between drain.c, which
 * walks it, and calls.c, which does what most of it is. One thread.
 */
#ifndef WRITER_SEGMENT_H
#define WRITER_SEGMENT_H

#include "writer/writer.h"

#define MASK_48 ((UINT64_C(1) << 48) - 1)

struct segment {
	struct writer *w;
	struct spool *spool;
	struct lane_view *view;
	const struct record *records; /* of the chunk */
	uint64_t offset;              /* of the chunk in the spool */
	uint32_t at, end;             /* slots */
	uint32_t run;                 /* slot at which the present owner's run began */
	uint32_t overhead;            /* slots of the run that are no events */
	uint32_t callchain;           /* of the event that comes next; 0 = none */
	uint32_t callchain_method;
	bool monotonic;
	int error; /* the block is full and could not be written: the record at `at` comes again */
	uint64_t least_tick, most_tick, latest_tick;
};

static inline struct tally *segment_tally(struct segment *s)
{
	return s->view->owner ? &s->view->guest : &s->view->own;
}

/* Calls as far as they follow each other, into the rows of `b`: s->at moves on. `functions` is
 * fn_count(). */
void calls_put(struct segment *s, struct batch *b, uint32_t functions);

/* Encode the rows gathered so far. `slot` is where their records end. */
void segment_run_end(struct segment *s, uint32_t slot);

/* A new row of a rare kind, its time set. */
struct batch *segment_row_add(struct segment *s, enum event_kind kind, uint64_t ns);
uint64_t segment_ns(struct segment *s, uint64_t tick);

/* A row just added lasts until then. */
static inline void segment_note_end(struct segment *s, uint64_t end_ns)
{
	if (end_ns > s->w->batch_last_ns)
		s->w->batch_last_ns = end_ns;
}

/* ---- results.c ---- */

/* Keeps a launch, a device, the driver's version, of `values` by number of the column; texts are
 * names in the spool. */
void results_note_kernel(
	struct spool *spool, const uint64_t *values, uint64_t duration_ns, uint32_t tid);
void results_note_device(struct spool *spool, const uint64_t *values);
void results_note_setup(struct spool *spool, const uint64_t *values);

/* ---- cuda.c ---- */

/* A record of a CUDA kind, at s->at, with `bytes` of payload. False: it cannot be one. */
bool cuda_put(struct segment *s, uint64_t word, uint32_t bytes);

/* ---- nvtx.c ---- */

/* The NVTX_NAME record at s->at, with `bytes` of payload. */
void nvtx_name_put(struct segment *s, uint32_t bytes);

/* The text of a name in the spool, until that is mapped anew, as here. Returns its bytes, 0 = none.
 */
uint32_t nvtx_name_text(struct spool *spool, uint32_t ref, const char **ret_text);

/* String id of a name in the spool, 0 when there is none. May map the spool anew. */
uint32_t nvtx_name_id(struct writer *w, struct spool *spool, uint32_t ref);

/* ---- nvtx_runs.c ---- */

/* The mark or range at s->at, of `slots`, and those like it behind it: into rows. Returns the slots
 * that they take, 0 when it cannot be. Counts what is no event in those behind the first. */
uint32_t nvtx_run_put(struct segment *s, uint32_t slots);

/* ---- nvtx_ext.c ---- */

/* A REC_NVTX_EXT at s->at, with `bytes` of payload. False = it cannot be. */
bool nvtx_ext_put(struct segment *s, uint32_t bytes);

#endif
