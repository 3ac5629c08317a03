/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named.h - NVTX records that name things, and texts longer than a record.
 */
#ifndef WRITER_NVTX_NAMED_H
#define WRITER_NVTX_NAMED_H

#include "writer/lane/segment.h"

/* Process a REC_NVTX_NAME record (lane/segment.h). */
record_put nvtx_named_put;

/* Return the string id of a text of which a record or range holds only the beginning, `bytes` at
 * `text`. Clears RECORD_TEXT_CUT in *flags if the rest is found. May remap the spool, which
 * invalidates `text`. */
uint32_t nvtx_long_id(
	struct writer *w, struct spool *spool, const char *text, uint32_t bytes, uint64_t *flags);

#endif
