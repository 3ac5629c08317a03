/*
 * spool_file.h - the producer's side of a spool's file: creation, growth, and space for lanes and
 * chunks.
 *
 * No descriptor stays open: growth opens the file again. Space is reserved (fallocate) before it is
 * mapped, so a full tmpfs is an error here and not a SIGBUS later. All with thread.busy set;
 * async-signal-safe; no allocation from any heap.
 */
#ifndef TRACER_SPOOL_FILE_H
#define TRACER_SPOOL_FILE_H

#include "common/spool.h"

/*
 * Makes and maps the spool `path` with its first segment, under a temporary name;
 * spool_file_publish() gives it its name. Returns NULL on failure with a negative errno in
 * *ret_error.
 */
struct spool_header *spool_file_create(const char *path, int *ret_error);

/* The header is complete: the file gets its name. */
int spool_file_publish(const char *path);

/* Offset of `bytes` (a lane or a chunk) of fresh space, 0 when there is none within the limit.
 * *ret_place is where it is mapped. */
uint64_t spool_file_take(uint64_t bytes, void **ret_place);

/* Where `offset`, handed out earlier, is mapped. */
void *spool_file_at(uint64_t offset);

/* A forked child gives back the mappings of its parent's spool. */
void spool_file_forget(void);

#endif
