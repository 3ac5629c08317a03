/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans.h - the table of NVTX ranges between start and end (struct nvtx_span of common/spool.h).
 *
 * A span is free, or open under its id. Ending claims it, so that of two threads that end the same
 * range only one does. At most NVTX_SPANS_MAX are open at a time. Any thread, without lock; memory
 * comes from the spool, 64 spans at a time.
 */
#ifndef TRACER_NVTX_SPANS_H
#define TRACER_NVTX_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"

/* Return a free span for the caller to fill, or NULL. */
struct nvtx_span *spans_take(void);

/* Return a new id for a span: never 0, and not used before. */
uint64_t spans_new_id(const struct nvtx_span *span);

/* Open a span that has been filled: from now on it may be ended, and the writer closes it after
 * a kill. */
void spans_open(struct nvtx_span *span, uint64_t id);

/* Return an id that no span has, for a range that could not be kept. */
uint64_t spans_no_id(void);

/* Return the open span with this id, or NULL. Another thread may end it meanwhile. */
const struct nvtx_span *spans_find(uint64_t id);

/* Return the open span with this id and claim it for the caller; NULL if there is none. */
struct nvtx_span *spans_claim(uint64_t id);

/* Store and read the id that another tool has for the open range; the thread that started it stores
 * it. Return false if there is no such range, or no memory for its other id. */
bool spans_set_other(uint64_t id, uint64_t other);
bool spans_other(uint64_t id, uint64_t *ret_other);

/* Free a span that was claimed. */
void spans_give(struct nvtx_span *span, uint64_t id);

/* Forget all open spans in a forked child. */
void spans_forked(void);

#endif
