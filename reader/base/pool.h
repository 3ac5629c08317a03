/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - texts kept once: equal texts have the same address, so that they can be compared and
 * hashed by it.
 *
 * All zero = empty; pool_release() at the end, until which texts stay valid. One thread; allocates.
 */
#ifndef READER_BASE_POOL_H
#define READER_BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

struct pool {
	char **texts; /* a hash */
	uint32_t count, capacity;
	struct pool_piece *pieces;
	size_t piece_used, piece_bytes;
};

void pool_release(struct pool *p);

/* The one copy of the text, NUL behind it. NULL = out of memory. */
const char *pool_text(struct pool *p, const char *text, size_t bytes);

/* Room of the pool's life, aligned for any type; its content is not set. NULL = out of memory. */
void *pool_room(struct pool *p, size_t bytes);

#endif
