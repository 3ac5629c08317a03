/*
 * spool.h - many streams of bytes written in turn and read one after the other: pieces in one
 * temporary file without a name (in TMPDIR), a buffer for each stream.
 *
 * Memory: SPOOL_BUFFER_BYTES and 16 bytes per piece for each stream. One thread; allocates; writes
 * files.
 */
#ifndef READER_EXPORT_SPOOL_H
#define READER_EXPORT_SPOOL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SPOOL_BUFFER_BYTES 16384u

struct spool {
	FILE *file; /* NULL = nothing was written yet */
	uint64_t bytes;
};

/* All zero = empty; spool_stream_release() at the end. */
struct spool_stream {
	uint8_t *buffer;
	size_t used;
	uint64_t bytes; /* written so far, with what the buffer has */
	struct spool_piece {
		uint64_t offset;
		uint32_t bytes;
	} * pieces;
	uint32_t count, capacity;
};

void spool_release(struct spool *s);
void spool_stream_release(struct spool_stream *stream);

/* 0 or a negative errno. */
int spool_write(struct spool *s, struct spool_stream *stream, const void *bytes, size_t count);

/* Hands the whole stream over. 0, -EPIPE where `out` failed, or another negative errno. */
int spool_copy(struct spool *s, const struct spool_stream *stream, FILE *out);

#endif
