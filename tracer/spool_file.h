/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool_file.h - the producer's side of a spool's file: creation, growth, and space for lanes and
 * chunks.
 *
 * No descriptor stays open, nor is one needed to grow where the kernel reserves page by page. Space
 * is reserved before it is used, so a full tmpfs is an error here and not a SIGBUS later. All with
 * thread.busy set; async-signal-safe; no allocation from any heap.
 */
#ifndef TRACER_SPOOL_FILE_H
#define TRACER_SPOOL_FILE_H

#include <stdbool.h>

#include "common/spool.h"

/*
 * Makes and maps the spool `path` with its first segment, under a temporary name; it may grow to
 * `limit_bytes` (header->limit_bytes is the caller's to set);
 * spool_file_publish() gives it its name. Returns NULL on failure with a negative errno in
 * *ret_error.
 */
struct spool_header *spool_file_create(const char *path, uint64_t limit_bytes, int *ret_error);

/* The header is complete: the file gets its name. */
int spool_file_publish(const char *path);

/* Offset of `bytes` (a lane or a chunk) of fresh space, 0 when there is none within the limit. The
 * first `now` bytes are reserved, the rest by spool_file_reserve(). *ret_place is where it is
 * mapped. */
uint64_t spool_file_take(uint64_t bytes, uint64_t now, void **ret_place);

/* Reserves a part of what has been taken, for good. False when there is no room. */
bool spool_file_reserve(void *place, uint64_t bytes);

/* Before a system call filter comes into force, behind which nothing can be reserved: half a
 * megabyte more, and all of what lanes hold. */
void spool_file_stock_up(void);

/* Where `offset`, handed out earlier, is mapped. */
void *spool_file_at(uint64_t offset);

/* Where a chunk at `offset` is mapped; NULL when there is none: the number lies in shared memory,
 * which may hold anything. */
char *spool_file_chunk(uint64_t offset);

/* In a forked child: its parent's spool becomes memory of its own, at the same place and with what
 * is in it. */
bool spool_file_detach(void);

/* What is mapped is not to be locked (mlockall). */
void spool_file_unlock(void);

/* A forked child gives back the mappings of its parent's spool. */
void spool_file_forget(void);

/*
 * The same in a forked child, where the tracer may have been interrupted with the address of its
 * lane in a register: what it still writes there goes into memory of nobody. `lane`: of the thread
 * that forked, or NULL. The memory stays until the child's own child leaves.
 */
void spool_file_leave(struct lane *lane);

#endif
