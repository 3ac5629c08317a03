/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.h - a growing buffer of bytes, for the writer and the reader.
 *
 * All zero = empty; the owner frees `data`. The functions return 0, or -ENOMEM with nothing
 * changed. One thread at a time; allocates.
 */
#ifndef COMMON_BUFFER_H
#define COMMON_BUFFER_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_SLACK_BYTES 4096u

struct buffer {
	uint8_t *data;
	size_t bytes, capacity;
};

/* Make room for `bytes` more. */
static inline int buffer_reserve(struct buffer *b, size_t bytes)
{
	uint8_t *larger;
	size_t capacity = b->capacity * 2;
	if (bytes <= b->capacity - b->bytes)
		return 0;
	if (bytes > SIZE_MAX / 4 - b->bytes)
		return -ENOMEM;
	if (capacity < b->bytes + bytes)
		capacity = b->bytes + bytes + BUFFER_SLACK_BYTES;
	larger = realloc(b->data, capacity);
	if (!larger)
		return -ENOMEM;
	b->data = larger;
	b->capacity = capacity;
	return 0;
}

/* Append a copy of `bytes` bytes. Return 0, or -ENOMEM, which leaves the buffer as it was. */
static inline int buffer_add(struct buffer *b, const void *data, size_t bytes)
{
	int err = buffer_reserve(b, bytes);
	if (!err && bytes) {
		memcpy(b->data + b->bytes, data, bytes);
		b->bytes += bytes;
	}
	return err;
}

#endif
