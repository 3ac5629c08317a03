/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cubins.h - the code of CUDA modules: put together from its pieces, kept once in the report as a
 * standard entry, and found again by the kernels of it.
 *
 * An entry's reference is the hash of the content with the lowest bit set, so it is the same
 * whoever wrote it. Where a piece is missing nothing is kept, and a note says so. What a cubin
 * holds is not trusted. One thread; allocates.
 */
#ifndef WRITER_CUBINS_H
#define WRITER_CUBINS_H

#include <stdint.h>

#include "writer/segment.h"

/* A piece, with `bytes` of payload: a REC_CUDA_CUBIN. The last one of a cubin makes the entry. */
void cubins_piece_put(struct segment *s, const struct record *r, uint32_t bytes);

/* A row of CUDA_MODULE by number of the column: what a context has. Its thread has sent the code
 * before: what is not whole then will not be. */
void cubins_note_module(struct segment *s, const uint64_t *values);

/* The reference of the module that a kernel of this context is in: of several the latest. 0 = it is
 * not known. */
uint64_t cubins_reference(const struct spool *spool, uint32_t context, const char *mangled);

/* How many have left the spools, at least in part, and are not in the file: where the report cannot
 * be written any more, nothing brings them back. */
uint32_t cubins_unwritten(const struct writer *w);

/* At the end of the process: says how many could not be kept. */
void cubins_finish(struct writer *w, struct spool *spool);

#endif
