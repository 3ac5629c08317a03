/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - intern table of texts: equal texts have the same address, so they can be compared and
 * hashed by address.
 *
 * All zero = empty. Texts stay valid until pool_release(). One thread; allocates.
 */
#ifndef READER_BASE_POOL_H
#define READER_BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

struct pool {
	char **texts; /* hash table */
	uint32_t count, capacity;
	struct pool_piece *pieces;
	size_t piece_used, piece_bytes;
};

/* Free the pool with all its texts and leave it empty. */
void pool_release(struct pool *p);

/* Return the interned copy of the text, terminated by NUL; NULL = out of memory. */
const char *pool_text(struct pool *p, const char *text, size_t bytes);

/* Allocate memory that lives as long as the pool, aligned for any type, not initialized. NULL = out
 * of memory. */
void *pool_room(struct pool *p, size_t bytes);

#endif
