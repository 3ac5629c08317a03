/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - interned texts: equal texts have the same address. */
#include "reader/base/pool.h"

#include <stdlib.h>
#include <string.h>

#include "reader/base/hash.h"

#define PIECE_BYTES (64u << 10)
#define CAPACITY_FIRST 1024u
#define ALIGNMENT 16u

struct pool_piece {
	struct pool_piece *next;
	_Alignas(ALIGNMENT) char room[];
};

void pool_release(struct pool *p)
{
	for (struct pool_piece *piece = p->pieces, *next; piece; piece = next) {
		next = piece->next;
		free(piece);
	}
	free(p->texts);
	*p = (struct pool){0};
}

static char *take(struct pool *p, size_t bytes)
{
	if (!p->pieces || p->piece_bytes - p->piece_used < bytes) {
		size_t room = bytes > PIECE_BYTES ? bytes : PIECE_BYTES;
		struct pool_piece *piece = malloc(sizeof(*piece) + room);
		if (!piece)
			return NULL;
		piece->next = p->pieces;
		p->pieces = piece;
		p->piece_bytes = room;
		p->piece_used = 0;
	}
	char *at = p->pieces->room + p->piece_used;
	p->piece_used += bytes;
	return at;
}

void *pool_room(struct pool *p, size_t bytes)
{
	size_t past = p->piece_used % ALIGNMENT;
	if (past && p->piece_bytes - p->piece_used >= ALIGNMENT)
		p->piece_used += ALIGNMENT - past;
	else if (past)
		p->piece_used = p->piece_bytes; /* the next piece is aligned */
	return take(p, bytes);
}

static uint64_t hash_of(const char *text, size_t bytes)
{
	uint64_t hash = bytes, word;
	for (; bytes >= 8; bytes -= 8, text += 8) {
		memcpy(&word, text, 8);
		hash = hash_mix(hash, word);
	}
	word = 0;
	memcpy(&word, text, bytes);
	return hash_mix(hash, word);
}

static char **slot_of(const struct pool *p, const char *text, size_t bytes)
{
	uint32_t i = (uint32_t)hash_of(text, bytes) & (p->capacity - 1);
	while (p->texts[i] && (strncmp(p->texts[i], text, bytes) || p->texts[i][bytes]))
		i = (i + 1) & (p->capacity - 1);
	return &p->texts[i];
}

static int grow(struct pool *p)
{
	struct pool old = *p;
	uint32_t capacity = p->capacity ? p->capacity * 2 : CAPACITY_FIRST;
	char **texts = calloc(capacity, sizeof(*texts));
	if (!texts)
		return -1;
	p->texts = texts;
	p->capacity = capacity;
	for (uint32_t i = 0; i < old.capacity; i++)
		if (old.texts[i])
			*slot_of(p, old.texts[i], strlen(old.texts[i])) = old.texts[i];
	free(old.texts);
	return 0;
}

const char *pool_text(struct pool *p, const char *text, size_t bytes)
{
	bytes = strnlen(text, bytes);
	if (p->count * 2 >= p->capacity && grow(p))
		return NULL;
	char **slot = slot_of(p, text, bytes);
	char *copy = *slot ? *slot : take(p, bytes + 1);
	if (*slot || !copy)
		return copy;
	memcpy(copy, text, bytes);
	copy[bytes] = 0;
	p->count++;
	*slot = copy;
	return copy;
}
