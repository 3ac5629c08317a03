/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.c - decompresses a report that is one zstd stream. */
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

struct unpacking {
	const struct source *from;
	uint64_t at; /* what was read of it */
	int to;
	uint64_t written, most;
	ZSTD_DStream *stream;
	uint8_t *in, *out;
	size_t in_bytes, out_bytes; /* room */
	size_t more;                /* 0: at the end of a frame */
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

static int all_write(struct unpacking *u, size_t bytes)
{
	u->cause = "compressed, and no report";
	if (!u->written && bytes && (bytes < 4 || memcmp(u->out, "NVR", 4)))
		return -EBADMSG;
	u->cause = "unpacks to more than half of the space that is left, or 64 GiB";
	if (bytes > u->most - u->written)
		return -EBADMSG;
	int error = io_write(u->to, u->out, bytes);
	if (error)
		u->cause = "no room to unpack it: see TMPDIR";
	u->written += bytes;
	return error;
}

static int piece_unpack(struct unpacking *u, ZSTD_inBuffer *in)
{
	ZSTD_outBuffer out = {u->out, u->out_bytes, 0};
	u->more = ZSTD_decompressStream(u->stream, &out, in);
	u->cause = "compressed report is damaged";
	return ZSTD_isError(u->more) ? -EBADMSG : all_write(u, out.pos);
}

static int all_unpack(struct unpacking *u)
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
	/* what the stream still holds: a full buffer may have stopped it */
	for (uint64_t before = 0; !error && u->more && u->written != before;) {
		ZSTD_inBuffer none = {u->in, 0, 0};
		before = u->written;
		error = piece_unpack(u, &none);
	}
	if (!error && u->more) {
		u->cause = "compressed report is cut off";
		error = -EBADMSG;
	}
	return error;
}

static int stream_open(struct unpacking *u)
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
	struct unpacking u = {.from = s};
	*ret_cause = "no place to unpack it: see TMPDIR";
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
