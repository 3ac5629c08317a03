/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.h - launches of kernels as standard entries of a report, which NVIDIA's reader lists.
 *
 * They repeat the content of events, so only the first launches of a process get an entry. The
 * second half of the entries is reserved for kernels and shapes that have no entry yet. They are
 * written when the process has ended, since its devices are known then. A writer that takes over
 * writes no entries for the time before. One thread; allocates: if memory is short, a launch has no
 * entry.
 */
#ifndef WRITER_CUDA_RESULTS_H
#define WRITER_CUDA_RESULTS_H

#include <stdint.h>

struct spool;
struct writer;

/* Record a launch, a device, an attribute of a device, or the version of the driver. `values`: by
 * column number; texts are names of the spool. */
void results_note_kernel(
	struct spool *spool, const uint64_t *values, uint64_t duration_ns, uint32_t tid);
void results_note_device(struct spool *spool, const uint64_t *values);
void results_note_attribute(struct spool *spool, const uint64_t *values);
void results_note_setup(struct spool *spool, const uint64_t *values);

/* Write the entries of a process that has ended to blocks, and forget them. Return 0 or a negative
 * errno as writer_flush() does; after an error, call it again to continue at the entry at which it
 * stopped. */
int results_put(struct writer *w, struct spool *spool);

#endif
