/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto.h - encoder of protobuf messages, field by field, into a buffer that is flushed to a
 * stream.
 *
 * Source: https://protobuf.dev/programming-guides/encoding. For formats whose files are larger than
 * memory and whose messages are small. Out of memory sets `failed`, after which nothing more is
 * written. All zero = empty; proto_release() at the end. One thread; allocates.
 */
#ifndef READER_EXPORT_PROTO_H
#define READER_EXPORT_PROTO_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/varint.h"

#define PROTO_FLUSH_BYTES 65536u
#define PROTO_NUMBER_BYTES (2 * VARINT_MAX) /* maximum size of a field without its text */

struct proto {
	uint8_t *bytes;
	size_t used, room;
	bool failed;
};

/* Free the buffer and leave it empty. */
void proto_release(struct proto *p);

/* Reserve `bytes` at the end. Returns false when out of memory, and then sets `failed`. */
bool proto_grow(struct proto *p, size_t bytes);

/* Write the buffer to the stream if it is large, or if `all`. Returns 0, -EPIPE if the stream has
 * failed, or -ENOMEM. */
int proto_flush(struct proto *p, FILE *out, bool all);

/* Append a text field; bytes that are not UTF-8 become \xNN. */
void proto_clean(struct proto *p, uint32_t field, const char *text, size_t bytes);

/* Ensure room for `bytes`. Returns false when out of memory; then `failed` is set. */
static inline bool proto_has_room(struct proto *p, size_t bytes)
{
	return p->room - p->used >= bytes || proto_grow(p, bytes);
}

/* Append a field with the wire type VARINT. */
static inline void proto_u64(struct proto *p, uint32_t field, uint64_t value)
{
	if (!proto_has_room(p, PROTO_NUMBER_BYTES))
		return;
	uint8_t *at = varint_put_tag(p->bytes + p->used, field, WIRE_VARINT);
	p->used = (size_t)(varint_put(at, value) - p->bytes);
}

/* Append a field with the wire type I64. */
static inline void proto_fixed64(struct proto *p, uint32_t field, uint64_t value)
{
	if (!proto_has_room(p, PROTO_NUMBER_BYTES))
		return;
	uint8_t *at = varint_put_tag(p->bytes + p->used, field, WIRE_FIXED64);
	for (int i = 0; i < 8; i++)
		*at++ = (uint8_t)(value >> 8 * i);
	p->used = (size_t)(at - p->bytes);
}

/* Append a double. */
static inline void proto_double(struct proto *p, uint32_t field, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	proto_fixed64(p, field, bits);
}

/* Append a text or bytes, which must be valid UTF-8 for a field of type string. */
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

/* Append bytes to the text or message that is open. */
static inline void proto_bytes(struct proto *p, const char *text, size_t bytes)
{
	if (!proto_has_room(p, bytes))
		return;
	memcpy(p->bytes + p->used, text, bytes);
	p->used += bytes;
}

/* Append a number to the packed field that is open. */
static inline void proto_packed(struct proto *p, uint64_t number)
{
	if (proto_has_room(p, VARINT_MAX))
		p->used = (size_t)(varint_put(p->bytes + p->used, number) - p->bytes);
}

/* Append a C string, which must be valid UTF-8. */
static inline void proto_string(struct proto *p, uint32_t field, const char *text)
{
	proto_text(p, field, text, strlen(text));
}

/* Begin a message inside the current one. Returns its offset, for proto_close(). */
static inline size_t proto_open(struct proto *p, uint32_t field)
{
	if (!proto_has_room(p, PROTO_NUMBER_BYTES))
		return 0;
	uint8_t *at = varint_put_tag(p->bytes + p->used, field, WIRE_BYTES);
	p->used = (size_t)(at - p->bytes) + 1; /* most lengths take one byte */
	return p->used;
}

/* End the message that begins at `offset`, as returned by proto_open(); inner messages first. */
static inline void proto_close(struct proto *p, size_t offset)
{
	size_t bytes = p->used - offset, more = varint_bytes(bytes) - 1;
	if (p->failed || !offset || (more && !proto_has_room(p, more)))
		return;
	if (more)
		memmove(p->bytes + offset + more, p->bytes + offset, bytes);
	varint_put(p->bytes + offset - 1, bytes);
	p->used += more;
}

#endif
