/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strings.c - texts of the report: a hash table from text to id.
 */
#include "writer/report/strings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/schema/functions.h"

#define CAPACITY_FIRST 1024u
#define COUNT_MAX 200000u /* this limit and the next bound the table to about 40 MiB */
#define TEXT_BYTES_MAX (32u << 20)

/* Hash by words: the hash is most of the cost of a text that is known. */
static uint64_t text_hash(const char *text, size_t bytes)
{
	uint64_t hash = bytes * UINT64_C(0x9e3779b97f4a7c15), word = 0;
	for (; bytes >= sizeof(word); bytes -= sizeof(word), text += sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
		hash ^= hash >> 29;
	}
	for (word = 0; bytes; bytes--)
		word = word << 8 | (uint8_t)*text++;
	hash = (hash ^ word) * UINT64_C(0x94d049bb133111eb);
	return hash ^ hash >> 31;
}

int strings_init(struct strings *s)
{
	memset(s, 0, sizeof(*s));
	s->slots = calloc(CAPACITY_FIRST, sizeof(*s->slots));
	s->capacity = CAPACITY_FIRST;
	s->next_id = 1;
	return s->slots ? 0 : -ENOMEM;
}

/* ---- memory for texts: allocated in order, freed all at once ---- */

#define CHUNK_TEXT_BYTES (64u << 10)

struct text_chunk {
	struct text_chunk *next;
	size_t used, bytes;
	char text[];
};

static char *text_room(struct strings *s, size_t bytes)
{
	struct text_chunk *c = s->chunks;
	if (!c || c->bytes - c->used < bytes) {
		size_t whole = bytes > CHUNK_TEXT_BYTES ? bytes : CHUNK_TEXT_BYTES;
		c = malloc(sizeof(*c) + whole);
		if (!c)
			return NULL;
		*c = (struct text_chunk){s->chunks, 0, whole};
		s->chunks = c;
	}
	c->used += bytes;
	return c->text + c->used - bytes;
}

static void chunks_free(struct text_chunk **chunks)
{
	for (struct text_chunk *next; *chunks; *chunks = next) {
		next = (*chunks)->next;
		free(*chunks);
	}
}

/* Keep the texts for the block that is being filled, if it needs any. */
static void chunks_retire(struct strings *s)
{
	struct text_chunk **end = &s->retired;
	while (*end)
		end = &(*end)->next;
	*end = s->chunks;
	s->chunks = NULL;
	if (!s->pending_count)
		chunks_free(&s->retired);
}

static void table_clear(struct strings *s)
{
	memset(s->slots, 0, s->capacity * sizeof(*s->slots));
	chunks_retire(s);
	s->count = 0;
	s->text_bytes = 0;
}

void strings_release(struct strings *s)
{
	strings_forget_pending(s);
	if (s->slots)
		table_clear(s);
	free(s->slots);
	free(s->pending);
	free(s->texts);
	memset(s, 0, sizeof(*s));
}

static struct string_slot *slot_find(
	struct string_slot *slots, uint32_t capacity, uint64_t hash, const char *text, size_t bytes)
{
	uint32_t i = (uint32_t)hash & (capacity - 1);
	while (slots[i].id &&
		(slots[i].hash != hash || slots[i].bytes != bytes ||
			memcmp(slots[i].text, text, bytes)))
		i = (i + 1) & (capacity - 1);
	return &slots[i];
}

static int table_grow(struct strings *s)
{
	uint32_t capacity = s->capacity * 2;
	struct string_slot *slots = calloc(capacity, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->capacity; i++) {
		struct string_slot *old = &s->slots[i];
		if (old->id)
			*slot_find(slots, capacity, old->hash, old->text, old->bytes) = *old;
	}
	free(s->slots);
	s->slots = slots;
	s->capacity = capacity;
	return 0;
}

static int pending_grow(struct strings *s)
{
	uint32_t ids = s->pending_capacity, texts = s->pending_capacity;
	int error = array_room(&s->pending, s->pending_count, &ids, sizeof(*s->pending));
	if (!error)
		error = array_room(&s->texts, s->pending_count, &texts, sizeof(*s->texts));
	if (!error)
		s->pending_capacity = texts;
	return error;
}

static uint32_t slot_fill(
	struct strings *s, struct string_slot *slot, uint64_t hash, const char *text, size_t bytes)
{
	if (s->pending_count == s->pending_capacity && pending_grow(s))
		return 0;
	char *kept = text_room(s, bytes);
	if (!kept)
		return 0;
	memcpy(kept, text, bytes);
	*slot = (struct string_slot){hash, s->next_id++, (uint32_t)bytes, kept};
	s->count++;
	s->text_bytes += bytes;
	s->pending[s->pending_count] = slot->id;
	s->texts[s->pending_count++] = (ProtobufCBinaryData){bytes, (uint8_t *)kept};
	s->pending_bytes += bytes + 8;
	return slot->id;
}

uint32_t strings_id(struct strings *s, const char *text, size_t bytes)
{
	if (!bytes)
		return 0;
	uint64_t hash = text_hash(text, bytes);
	struct string_slot *slot = slot_find(s->slots, s->capacity, hash, text, bytes);
	if (slot->id)
		return slot->id;
	bool full = s->count >= COUNT_MAX || s->text_bytes >= TEXT_BYTES_MAX;
	if (full)
		table_clear(s);
	bool grows = s->count * 2 >= s->capacity;
	if (grows && table_grow(s))
		return 0;
	if (full || grows)
		slot = slot_find(s->slots, s->capacity, hash, text, bytes);
	return slot_fill(s, slot, hash, text, bytes);
}

uint32_t strings_function_id(struct strings *s, uint32_t fn)
{
	const char *name = fn_name(fn);
	if (!name)
		return 0;
	if (!s->functions[fn])
		s->functions[fn] = strings_id(s, name, strlen(name));
	return s->functions[fn];
}

void strings_forget_pending(struct strings *s)
{
	s->pending_count = 0;
	s->pending_bytes = 0;
	chunks_free(&s->retired);
}
