/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool_file.h - the producer's side of a spool's file: creation, growth, and space for lanes and
 * chunks.
 *
 * No descriptor stays open, nor is one needed to grow where the kernel reserves page by page. Space
 * is reserved before it is used, so a full tmpfs causes an error here and not a SIGBUS later. All
 * functions: thread.busy set; async-signal-safe; no allocation from any heap.
 */
#ifndef TRACER_CORE_SPOOL_FILE_H
#define TRACER_CORE_SPOOL_FILE_H

#include <stdbool.h>

#include "common/spool.h"

/*
 * Create and map the spool `path` with its first segment, under a temporary name; it may grow to
 * `limit_bytes` (the caller sets header->limit_bytes). spool_file_publish() gives it its name.
 * Return NULL on failure, with a negative errno in *ret_error.
 */
struct spool_header *spool_file_create(const char *path, uint64_t limit_bytes, int *ret_error);

/* Rename the file to its final name, once its header is complete. Return 0 or a negative errno. */
int spool_file_publish(const char *path);

/* Allocate `bytes` of space (for a lane or a chunk). Return its offset, 0 if the limit leaves none.
 * The first `now` bytes are reserved, the rest by spool_file_reserve(). *ret_place receives its
 * address. */
uint64_t spool_file_take(uint64_t bytes, uint64_t now, void **ret_place);

/* Reserve a part of space that was taken; the reservation is permanent. Return false if there is no
 * room. */
bool spool_file_reserve(void *place, uint64_t bytes);

/* Reserve half a megabyte more, and all that lanes hold: call before a system call filter comes
 * into force, since nothing can be reserved afterwards. */
void spool_file_stock_up(void);

/* Return the address at which `offset`, which spool_file_take() returned, is mapped. */
void *spool_file_at(uint64_t offset);

/* Return the address at which the chunk at `offset` is mapped; NULL if there is none. The offset is
 * read from shared memory, which may hold anything. */
char *spool_file_chunk(uint64_t offset);

/* Replace, in a forked child, the mapping of the parent's spool by private memory at the same
 * place with the same content. Return false without memory: then the header, or all of it, is
 * still the parent's. */
bool spool_file_detach(void);

/* Unlock all mappings: the program has locked its memory (mlockall). */
void spool_file_unlock(void);

/* Unmap the parent's spool in a forked child. */
void spool_file_forget(void);

/*
 * Unmap the parent's spool in a forked child whose tracer code may have been interrupted with the
 * address of its lane in a register: what it still writes there is written to unused private
 * memory. `lane` is the lane of the thread that forked, or NULL. The memory stays until the child's
 * own child leaves.
 */
void spool_file_leave(struct lane *lane);

#endif
