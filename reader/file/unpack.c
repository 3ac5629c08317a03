/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.c - decompression of a report that is one zstd stream. */
#define _GNU_SOURCE
#include "reader/file/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zstd.h>

#include "reader/base/io.h"

struct unpacker {
	const struct source *from;
	uint64_t at; /* offset of the next byte to read */
	int to;
	uint64_t written, most;
	ZSTD_DStream *stream;
	uint8_t *in, *out;
	size_t in_bytes, out_bytes; /* capacity of both buffers */
	size_t more;                /* 0 at the end of a frame */
	const char *cause;
};

bool source_is_packed(const struct source *s)
{
	static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
	uint8_t start[sizeof(magic)];
	return s->size >= sizeof(start) && !source_read(s, 0, start, sizeof(start)) &&
		!memcmp(start, magic, sizeof(magic));
}

static int nameless_file(uint64_t *ret_most)
{
	const char *folder = getenv("TMPDIR");
	char *name = NULL;
	struct statvfs space;
	folder = folder && *folder ? folder : "/var/tmp";
	if (asprintf(&name, "%s/trace-XXXXXX", folder) < 0)
		return -ENOMEM;
	int fd = mkostemp(name, O_CLOEXEC);
	int error = fd < 0 ? -errno : 0;
	if (fd >= 0)
		unlink(name);
	free(name);
	if (error)
		return error;
	*ret_most = UNPACK_BYTES_MAX;
	if (!fstatvfs(fd, &space) && space.f_frsize * space.f_bavail / 2 < *ret_most)
		*ret_most = space.f_frsize * space.f_bavail / 2;
	return fd;
}

static int all_write(struct unpacker *u, size_t bytes)
{
	u->cause = "compressed, but not a report";
	if (!u->written && bytes && (bytes < 4 || memcmp(u->out, "NVR", 4)))
		return -EBADMSG;
	u->cause = "unpacked size exceeds 64 GiB or half of the free space in TMPDIR";
	if (bytes > u->most - u->written)
		return -EBADMSG;
	int error = io_write(u->to, u->out, bytes);
	if (error)
		u->cause = "not enough space to unpack it; set TMPDIR to another folder";
	u->written += bytes;
	return error;
}

static int piece_unpack(struct unpacker *u, ZSTD_inBuffer *in)
{
	ZSTD_outBuffer out = {u->out, u->out_bytes, 0};
	u->more = ZSTD_decompressStream(u->stream, &out, in);
	u->cause = "compressed report is damaged";
	return ZSTD_isError(u->more) ? -EBADMSG : all_write(u, out.pos);
}

static int all_unpack(struct unpacker *u)
{
	int error = 0;
	u->more = 1;
	while (!error && u->at < u->from->size) {
		const uint64_t left = u->from->size - u->at;
		ZSTD_inBuffer in = {u->in, left < u->in_bytes ? (size_t)left : u->in_bytes, 0};
		error = source_read(u->from, u->at, u->in, in.size);
		u->at += in.size;
		while (!error && in.pos < in.size)
			error = piece_unpack(u, &in);
	}
	/* Flush the output that the decompressor still buffers because its buffer was full. */
	for (uint64_t before = 0; !error && u->more && u->written != before;) {
		ZSTD_inBuffer none = {u->in, 0, 0};
		before = u->written;
		error = piece_unpack(u, &none);
	}
	if (!error && u->more) {
		u->cause = "compressed report is truncated";
		error = -EBADMSG;
	}
	return error;
}

static int stream_open(struct unpacker *u)
{
	u->in_bytes = ZSTD_DStreamInSize();
	u->out_bytes = ZSTD_DStreamOutSize();
	u->in = malloc(u->in_bytes);
	u->out = malloc(u->out_bytes);
	u->stream = ZSTD_createDStream();
	if (!u->in || !u->out || !u->stream)
		return -ENOMEM;
	ZSTD_DCtx_setParameter(u->stream, ZSTD_d_windowLogMax, UNPACK_WINDOW_LOG);
	return 0;
}

int source_unpack(struct source *s, const char **ret_cause)
{
	struct unpacker u = {.from = s};
	*ret_cause = "cannot unpack it; set TMPDIR to a writable folder";
	u.to = nameless_file(&u.most);
	if (u.to < 0)
		return u.to;
	int error = stream_open(&u);
	if (!error)
		error = all_unpack(&u);
	ZSTD_freeDStream(u.stream);
	free(u.in);
	free(u.out);
	if (error) {
		*ret_cause = u.cause;
		close(u.to);
		return error;
	}
	source_close(s);
	*s = (struct source){.fd = u.to, .size = u.written};
	return 0;
}
