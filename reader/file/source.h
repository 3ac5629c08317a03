/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - the bytes of a report: a regular file read by position, or a piece of memory (tests,
 * fuzzing).
 *
 * The size is taken once, at open: what a writer appends later is not seen, and a file that shrinks
 * meanwhile gives -EIO instead of a signal, as a mapping would. Thread-safe for reading; may block
 * on the disk; allocates nothing.
 */
#ifndef READER_FILE_SOURCE_H
#define READER_FILE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

struct source {
	int fd; /* -1 = memory */
	const uint8_t *memory;
	uint64_t size;
	/* Bytes that are read as if they stood behind `size`, which does not count them; the
	 * caller's. */
	const uint8_t *tail;
	uint64_t tail_bytes;
};

/* Where the part ends that an offset lies in: the file, or the tail. */
static inline uint64_t source_end(const struct source *s, uint64_t offset)
{
	return offset < s->size ? s->size : s->size + s->tail_bytes;
}

/* 0 or a negative errno; -EISDIR, -ESPIPE for what is no regular file. */
int source_open(struct source *s, const char *path);

/* Reads `bytes` that stay the caller's for the life of the source. */
void source_from_memory(struct source *s, const void *data, size_t bytes);
void source_close(struct source *s);

/* Takes the size anew, after a writer has ended. */
int source_refresh(struct source *s);

/* Reads exactly `bytes` at `offset`, all of one part. 0, -EIO when there are not so many or the
 * file is shorter than its size was, or another negative errno. */
int source_read(const struct source *s, uint64_t offset, void *buffer, size_t bytes);

#endif
