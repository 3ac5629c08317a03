/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cubins.h - the code of CUDA modules: assembled from pieces, written once as a standard entry of
 * the report, and looked up by its kernels.
 *
 * The reference of an entry is the hash of its content with the lowest bit set, so it does not
 * depend on who wrote it. If a piece is missing, the cubin is dropped, and a note reports this. The
 * content of a cubin is not trusted. One thread; allocates.
 */
#ifndef WRITER_CUDA_CUBINS_H
#define WRITER_CUDA_CUBINS_H

#include <stdint.h>

#include "writer/lane/segment.h"

/* A piece: a REC_CUDA_CUBIN (lane/segment.h). The last piece of a cubin writes the entry. */
record_put cubin_piece_put;

/* Record a row of CUDA_MODULE, indexed by column number: a context has loaded the module. The
 * thread sent the code before the row, so a cubin that is not whole now will stay incomplete. */
void cubins_note_module(struct segment *s, const uint64_t *values);

/* Return the reference of the loaded module of the context that contains this kernel, the latest if
 * there are several. 0 = not known. */
uint64_t cubins_reference(const struct spool *spool, uint32_t context, const char *mangled);

/* Return the number of cubins that have left the spools, at least in part, and are not in the file.
 * They are lost if the report can no longer be written. */
uint32_t cubins_unwritten(const struct writer *w);

/* Add a note, at the end of a process, with the number of cubins that are missing. Return 0. */
int cubins_finish(struct writer *w, struct spool *spool);

#endif
