/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - output stream that compresses with zstd. */
#define _GNU_SOURCE
#include "reader/export/pack.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <zstd.h>

#define PACK_LEVEL 3

struct pack {
	FILE *to;
	ZSTD_CCtx *stream;
	size_t room_bytes;
	uint8_t room[];
};

/* Compress all of `in`; at the end of the frame, also flush what the compressor buffers. */
static int piece_pack(struct pack *p, ZSTD_inBuffer *in, ZSTD_EndDirective how)
{
	size_t left;
	do {
		ZSTD_outBuffer out = {p->room, p->room_bytes, 0};
		left = ZSTD_compressStream2(p->stream, &out, in, how);
		if (ZSTD_isError(left)) {
			errno = ENOMEM;
			return -1;
		}
		if (fwrite(p->room, 1, out.pos, p->to) != out.pos)
			return -1;
	} while (how == ZSTD_e_end ? left != 0 : in->pos < in->size);
	return 0;
}

static ssize_t pack_write(void *cookie, const char *data, size_t bytes)
{
	ZSTD_inBuffer in = {data, bytes, 0};
	return piece_pack(cookie, &in, ZSTD_e_continue) ? 0 : (ssize_t)bytes;
}

static int pack_close(void *cookie)
{
	struct pack *p = cookie;
	ZSTD_inBuffer none = {"", 0, 0};
	int error = piece_pack(p, &none, ZSTD_e_end);
	ZSTD_freeCCtx(p->stream);
	free(p);
	return error;
}

FILE *pack_open(FILE *to)
{
	const cookie_io_functions_t functions = {.write = pack_write, .close = pack_close};
	const size_t room = ZSTD_CStreamOutSize();
	struct pack *p = malloc(sizeof(*p) + room);
	if (!p)
		return NULL;
	*p = (struct pack){.to = to, .stream = ZSTD_createCCtx(), .room_bytes = room};
	FILE *file = p->stream ? fopencookie(p, "w", functions) : NULL;
	if (file) {
		ZSTD_CCtx_setParameter(p->stream, ZSTD_c_compressionLevel, PACK_LEVEL);
		ZSTD_CCtx_setParameter(p->stream, ZSTD_c_checksumFlag, 1);
		return file;
	}
	ZSTD_freeCCtx(p->stream);
	free(p);
	errno = ENOMEM;
	return NULL;
}
