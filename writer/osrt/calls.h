/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.h - conversion of function calls to columns: the hot path of the writer.
 *
 * Consecutive calls are converted to rows together; a column whose values are all the same is not
 * stored. One thread.
 */
#ifndef WRITER_OSRT_CALLS_H
#define WRITER_OSRT_CALLS_H

#include "writer/lane/segment.h"

/* Add the consecutive calls from s->at on to the rows of `b`, and advance s->at past them.
 * `functions` is fn_count(). Adds none if the record has changed meanwhile. */
void calls_put(struct segment *s, struct batch *b, uint32_t functions);

#endif
