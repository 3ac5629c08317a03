#include "writer/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/schema/functions.h"

#define CAPACITY_FIRST 1024u
#define COUNT_MAX 200000u /* with the next: bounds the table at some 40 MiB */
#define TEXT_BYTES_MAX (32u << 20)

static uint64_t text_hash(const char *text, size_t bytes)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	while (bytes--)
		hash = (hash ^ (uint8_t)*text++) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 29;
}

int strings_init(struct strings *s)
{
	memset(s, 0, sizeof(*s));
	s->slots = calloc(CAPACITY_FIRST, sizeof(*s->slots));
	s->capacity = CAPACITY_FIRST;
	s->next_id = 1;
	return s->slots ? 0 : -ENOMEM;
}

static void table_clear(struct strings *s)
{
	for (uint32_t i = 0; i < s->capacity; i++) {
		free((char *)s->slots[i].text);
		s->slots[i] = (struct string_slot){0};
	}
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
	free(s->lengths);
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
	uint32_t capacity = s->pending_capacity ? s->pending_capacity * 2 : 256;
	uint32_t *pending = realloc(s->pending, capacity * sizeof(*pending));
	if (pending)
		s->pending = pending;
	uint8_t **texts = realloc(s->texts, capacity * sizeof(*texts));
	if (texts)
		s->texts = texts;
	size_t *lengths = realloc(s->lengths, capacity * sizeof(*lengths));
	if (lengths)
		s->lengths = lengths;
	if (!pending || !texts || !lengths)
		return -ENOMEM;
	s->pending_capacity = capacity;
	return 0;
}

static uint32_t slot_fill(
	struct strings *s, struct string_slot *slot, uint64_t hash, const char *text, size_t bytes)
{
	if (s->pending_count == s->pending_capacity && pending_grow(s))
		return 0;
	char *kept = malloc(bytes), *sent = malloc(bytes);
	if (!kept || !sent) {
		free(kept);
		free(sent);
		return 0;
	}
	memcpy(kept, text, bytes);
	memcpy(sent, text, bytes);
	*slot = (struct string_slot){hash, s->next_id++, (uint32_t)bytes, kept};
	s->count++;
	s->text_bytes += bytes;
	s->pending[s->pending_count] = slot->id;
	s->texts[s->pending_count] = (uint8_t *)sent;
	s->lengths[s->pending_count++] = bytes;
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
	if (s->count >= COUNT_MAX || s->text_bytes >= TEXT_BYTES_MAX)
		table_clear(s);
	if (s->count * 2 >= s->capacity && table_grow(s))
		return 0;
	return slot_fill(s, slot_find(s->slots, s->capacity, hash, text, bytes), hash, text, bytes);
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
	for (uint32_t i = 0; i < s->pending_count; i++)
		free(s->texts[i]);
	s->pending_count = 0;
	s->pending_bytes = 0;
}
