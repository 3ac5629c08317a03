/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - bytes of a report: a regular file read by offset, or a buffer (tests, fuzzing).
 *
 * The size is determined once, at open. Data that a writer appends later is not seen, and reading a
 * file that has shrunk returns -EIO, whereas a memory mapping would raise SIGBUS. Any thread may
 * read; may block on the disk; allocates nothing.
 */
#ifndef READER_FILE_SOURCE_H
#define READER_FILE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

struct source {
	int fd; /* -1 = memory */
	const uint8_t *memory;
	uint64_t size;
	/* Bytes that are read as if the file continued with them; not included in `size`; owned by
	 * the caller. */
	const uint8_t *tail;
	uint64_t tail_bytes;
};

/* Return the end of the part that contains an offset: the file or the tail. */
static inline uint64_t source_end(const struct source *s, uint64_t offset)
{
	return offset < s->size ? s->size : s->size + s->tail_bytes;
}

/* Open a file. Returns 0 or a negative errno; -EISDIR or -ESPIPE if it is not a regular file. */
int source_open(struct source *s, const char *path);

/* Read from memory, which the caller keeps for the life of the source. */
void source_from_memory(struct source *s, const void *data, size_t bytes);
void source_close(struct source *s);

/* Determine the size again, after a writer has ended. Returns 0 or a negative errno. */
int source_refresh(struct source *s);

/* Read exactly `bytes` at `offset`, all within one part. Returns 0; -EIO if there are fewer bytes
 * or the file has shrunk; or another negative errno. */
int source_read(const struct source *s, uint64_t offset, void *buffer, size_t bytes);

#endif
