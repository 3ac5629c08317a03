/* SPDX-License-Identifier: Apache-2.0 */
/* temporary_stream.c - byte streams in one temporary file. */
#define _GNU_SOURCE
#include "reader/export/temporary_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "reader/base/map.h"

void temporary_file_release(struct temporary_file *s)
{
	if (s->file)
		fclose(s->file);
	*s = (struct temporary_file){0};
}

void temporary_stream_release(struct temporary_stream *stream)
{
	free(stream->buffer);
	free(stream->pieces);
	*stream = (struct temporary_stream){0};
}

static int temporary_open(struct temporary_file *s)
{
	const char *place = getenv("TMPDIR");
	int fd = open(place && *place ? place : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	s->file = fd >= 0 ? fdopen(fd, "w+") : tmpfile();
	return s->file ? 0 : -errno;
}

/* Write the full buffer of a stream as a piece, or extend its last piece. */
static int piece_write(struct temporary_file *s, struct temporary_stream *stream)
{
	int error = s->file ? 0 : temporary_open(s);
	if (error)
		return error;
	struct temporary_piece *last = stream->count ? &stream->pieces[stream->count - 1] : NULL;
	if (last && last->offset + last->bytes == s->bytes &&
		last->bytes <= UINT32_MAX - TEMPORARY_BUFFER_BYTES) {
		last->bytes += (uint32_t)stream->used;
	} else {
		if (array_room(&stream->pieces, stream->count, &stream->capacity,
			    sizeof(*stream->pieces)))
			return -ENOMEM;
		stream->pieces[stream->count++] =
			(struct temporary_piece){s->bytes, (uint32_t)stream->used};
	}
	if (fwrite(stream->buffer, 1, stream->used, s->file) != stream->used)
		return -errno;
	s->bytes += stream->used;
	stream->used = 0;
	return 0;
}

int temporary_stream_write(
	struct temporary_file *s, struct temporary_stream *stream, const void *bytes, size_t count)
{
	const uint8_t *from = bytes;
	if (!stream->buffer && !(stream->buffer = malloc(TEMPORARY_BUFFER_BYTES)))
		return -ENOMEM;
	stream->bytes += count;
	while (count) {
		size_t some = TEMPORARY_BUFFER_BYTES - stream->used;
		some = some < count ? some : count;
		memcpy(stream->buffer + stream->used, from, some);
		stream->used += some;
		from += some;
		count -= some;
		int error = stream->used == TEMPORARY_BUFFER_BYTES ? piece_write(s, stream) : 0;
		if (error)
			return error;
	}
	return 0;
}

static int piece_visit(struct temporary_file *s, const struct temporary_piece *piece,
	int (*take)(void *user, const void *bytes, size_t count), void *user)
{
	_Alignas(uint64_t) uint8_t bytes[TEMPORARY_BUFFER_BYTES];
	int error = 0;
	for (uint32_t done = 0, some; !error && done < piece->bytes; done += some) {
		some = piece->bytes - done < sizeof(bytes) ? piece->bytes - done
							   : (uint32_t)sizeof(bytes);
		ssize_t got = pread(fileno(s->file), bytes, some, (off_t)(piece->offset + done));
		if (got != (ssize_t)some)
			return got < 0 ? -errno : -EIO;
		error = take(user, bytes, some);
	}
	return error;
}

int temporary_stream_visit(struct temporary_file *s, const struct temporary_stream *stream,
	int (*take)(void *user, const void *bytes, size_t count), void *user)
{
	int error = s->file && fflush(s->file) ? -errno : 0;
	for (uint32_t i = 0; !error && i < stream->count; i++)
		error = piece_visit(s, &stream->pieces[i], take, user);
	return error || !stream->used ? error : take(user, stream->buffer, stream->used);
}

static int bytes_write(void *user, const void *bytes, size_t count)
{
	return fwrite(bytes, 1, count, (FILE *)user) == count ? 0 : -EPIPE;
}

int temporary_stream_copy(
	struct temporary_file *s, const struct temporary_stream *stream, FILE *out)
{
	return temporary_stream_visit(s, stream, bytes_write, out);
}
