/* SPDX-License-Identifier: Apache-2.0 */
/*
 * temporary_stream.h - byte streams that are written interleaved and read back one by one.
 *
 * An exporter that must write its parts in another order than it computes them stores each part in
 * a stream. Each stream has a buffer; full buffers become pieces of one unnamed temporary file (in
 * TMPDIR, else /tmp).
 *
 * Memory: TEMPORARY_BUFFER_BYTES and 16 bytes per piece for each stream. One thread; allocates;
 * writes files.
 */
#ifndef READER_EXPORT_TEMPORARY_STREAM_H
#define READER_EXPORT_TEMPORARY_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TEMPORARY_BUFFER_BYTES 16384u

/* The file of all streams of an export. All zero = not created yet. */
struct temporary_file {
	FILE *file; /* NULL = not created yet */
	uint64_t bytes;
};

/* All zero = empty; temporary_stream_release() at the end. */
struct temporary_stream {
	uint8_t *buffer;
	size_t used;
	uint64_t bytes; /* bytes written so far, including the buffer */
	struct temporary_piece {
		uint64_t offset;
		uint32_t bytes;
	} * pieces;
	uint32_t count, capacity;
};

/* Close the file, which removes it; free the memory of a stream. */
void temporary_file_release(struct temporary_file *s);
void temporary_stream_release(struct temporary_stream *stream);

/* Append bytes to a stream. Returns 0 or a negative errno. */
int temporary_stream_write(
	struct temporary_file *s, struct temporary_stream *stream, const void *bytes, size_t count);

/* Pass the whole stream to `take`, in parts of which all but the last are as large as a buffer.
 * Returns 0, the first error of `take`, or another negative errno. */
int temporary_stream_visit(struct temporary_file *s, const struct temporary_stream *stream,
	int (*take)(void *user, const void *bytes, size_t count), void *user);

/* Write the whole stream to `out`. Returns 0, -EPIPE if `out` failed, or another negative errno. */
int temporary_stream_copy(
	struct temporary_file *s, const struct temporary_stream *stream, FILE *out);

#endif
