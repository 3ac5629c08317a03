/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans.h - the table of NVTX ranges between start and end (struct nvtx_span of common/spool.h).
 *
 * A span is free, or open under its id; ending it claims it, so that of two threads that end the
 * same range one does. At most NVTX_SPANS_MAX are open at a time. Any thread, without lock; memory
 * comes from the spool, 64 spans at a time.
 */
#ifndef TRACER_SPANS_H
#define TRACER_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"

/* A free span for the caller to fill, or NULL. */
struct nvtx_span *spans_take(void);

/* The id that a span gets. Never 0, and not used before. */
uint64_t spans_new_id(const struct nvtx_span *span);

/* It is filled: from here on it may be ended, and is closed by the writer after a kill. */
void spans_open(struct nvtx_span *span, uint64_t id);

/* An id that no span has: what could not be kept. */
uint64_t spans_no_id(void);

/* The open span with this id, which another thread may end meanwhile; NULL when there is none. */
const struct nvtx_span *spans_find(uint64_t id);

/* The open span with this id, for the caller alone; NULL when there is none. */
struct nvtx_span *spans_claim(uint64_t id);

/* The id that another tool has for the open range; set by who started it. False = there is none. */
bool spans_set_other(uint64_t id, uint64_t other);
bool spans_other(uint64_t id, uint64_t *ret_other);

/* Done with it. */
void spans_give(struct nvtx_span *span, uint64_t id);

/* A forked child has no open ones. */
void spans_forked(void);

#endif
