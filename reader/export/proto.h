/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto.h - messages of protobuf, written field by field into a buffer that goes to a stream.
 *
 * Source: https://protobuf.dev/programming-guides/encoding. For formats whose files are larger than
 * memory and whose messages are small. Out of memory is kept in `failed`, and what comes behind it
 * is not written. All zero = empty; proto_release() at the end. One thread; allocates.
 */
#ifndef READER_EXPORT_PROTO_H
#define READER_EXPORT_PROTO_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/varint.h"

#define PROTO_FLUSH_BYTES 65536u
#define PROTO_NUMBER_BYTES (2 * VARINT_MAX) /* a field at most, but texts */

struct proto {
	uint8_t *bytes;
	size_t used, room;
	bool failed;
};

void proto_release(struct proto *p);

/* Makes room for so many bytes. False = out of memory. */
bool proto_grow(struct proto *p, size_t bytes);

/* Hands over what is there, when it is much or `all` is asked for. 0, -EPIPE where the stream has
 * failed, or -ENOMEM. */
int proto_flush(struct proto *p, FILE *out, bool all);

/* A text that may have other bytes than UTF-8: those as \\xNN. */
void proto_clean(struct proto *p, uint32_t field, const char *text, size_t bytes);

static inline bool proto_has_room(struct proto *p, size_t bytes)
{
	return p->room - p->used >= bytes || proto_grow(p, bytes);
}

static inline void proto_u64(struct proto *p, uint32_t field, uint64_t value)
{
	if (!proto_has_room(p, PROTO_NUMBER_BYTES))
		return;
	uint8_t *at = varint_put_tag(p->bytes + p->used, field, WIRE_VARINT);
	p->used = (size_t)(varint_put(at, value) - p->bytes);
}

static inline void proto_fixed64(struct proto *p, uint32_t field, uint64_t value)
{
	if (!proto_has_room(p, PROTO_NUMBER_BYTES))
		return;
	uint8_t *at = varint_put_tag(p->bytes + p->used, field, WIRE_FIXED64);
	for (int i = 0; i < 8; i++)
		*at++ = (uint8_t)(value >> 8 * i);
	p->used = (size_t)(at - p->bytes);
}

static inline void proto_double(struct proto *p, uint32_t field, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	proto_fixed64(p, field, bits);
}

static inline void proto_text(struct proto *p, uint32_t field, const char *text, size_t bytes)
{
	if (!proto_has_room(p, PROTO_NUMBER_BYTES + bytes))
		return;
	uint8_t *at = varint_put_tag(p->bytes + p->used, field, WIRE_BYTES);
	at = varint_put(at, bytes);
	if (bytes)
		memcpy(at, text, bytes);
	p->used = (size_t)(at - p->bytes) + bytes;
}

/* Bytes of the text, or message, at hand. */
static inline void proto_bytes(struct proto *p, const char *text, size_t bytes)
{
	if (!proto_has_room(p, bytes))
		return;
	memcpy(p->bytes + p->used, text, bytes);
	p->used += bytes;
}

static inline void proto_string(struct proto *p, uint32_t field, const char *text)
{
	proto_text(p, field, text, strlen(text));
}

/* Begins a message in the one at hand; returns its place, for proto_close(). */
static inline size_t proto_open(struct proto *p, uint32_t field)
{
	if (!proto_has_room(p, PROTO_NUMBER_BYTES))
		return 0;
	uint8_t *at = varint_put_tag(p->bytes + p->used, field, WIRE_BYTES);
	p->used = (size_t)(at - p->bytes) + 1; /* most lengths take one byte */
	return p->used;
}

static inline void proto_close(struct proto *p, size_t place)
{
	size_t bytes = p->used - place, more = varint_bytes(bytes) - 1;
	if (p->failed || !place || (more && !proto_has_room(p, more)))
		return;
	if (more)
		memmove(p->bytes + place + more, p->bytes + place, bytes);
	varint_put(p->bytes + place - 1, bytes);
	p->used += more;
}

#endif
