/* SPDX-License-Identifier: Apache-2.0 */
/* strings.c - string table of a report: texts by id. */
#include "reader/report/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/hash.h"

#define PIECE_BYTES (256u << 10)

struct string_piece {
	struct string_piece *next;
	char text[];
};

void string_table_init(struct string_table *t)
{
	*t = (struct string_table){0};
}

void string_table_release(struct string_table *t)
{
	for (struct string_piece *p = t->pieces, *next; p; p = next) {
		next = p->next;
		free(p);
	}
	free(t->slots);
	*t = (struct string_table){0};
}

static char *text_store(struct string_table *t, const uint8_t *data, size_t bytes)
{
	if (!t->pieces || t->piece_bytes - t->piece_used <= bytes) {
		size_t room = bytes + 1 > PIECE_BYTES ? bytes + 1 : PIECE_BYTES;
		struct string_piece *piece = malloc(sizeof(*piece) + room);
		if (!piece)
			return NULL;
		piece->next = t->pieces;
		t->pieces = piece;
		t->piece_bytes = room;
		t->piece_used = 0;
	}
	char *text = t->pieces->text + t->piece_used;
	if (bytes)
		memcpy(text, data, bytes);
	text[bytes] = 0;
	t->piece_used += bytes + 1;
	t->text_bytes += bytes;
	return text;
}

static struct string_slot *slot_of(const struct string_table *t, uint32_t id)
{
	uint32_t i = (uint32_t)hash_mix(id, 0) & (t->capacity - 1);
	while (t->slots[i].id && t->slots[i].id != id)
		i = (i + 1) & (t->capacity - 1);
	return &t->slots[i];
}

static int grow(struct string_table *t)
{
	struct string_table old = *t;
	t->capacity = old.capacity ? old.capacity * 2 : 256;
	t->slots = calloc(t->capacity, sizeof(*t->slots));
	if (!t->slots) {
		*t = old;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < old.capacity; i++)
		if (old.slots[i].id)
			*slot_of(t, old.slots[i].id) = old.slots[i];
	free(old.slots);
	return 0;
}

int string_table_add(struct string_table *t, const Libtrace__Strings *strings)
{
	if (strings->n_ids != strings->n_texts)
		return -EBADMSG;
	for (size_t i = 0; i < strings->n_ids; i++) {
		if (t->count + t->count / 2 >= t->capacity && grow(t))
			return -ENOMEM;
		if (!strings->ids[i])
			return -EBADMSG;
		t->last_id = strings->ids[i] > t->last_id ? strings->ids[i] : t->last_id;
		struct string_slot *slot = slot_of(t, strings->ids[i]);
		if (slot->id)
			continue;
		const char *text = text_store(t, strings->texts[i].data, strings->texts[i].len);
		if (!text)
			return -ENOMEM;
		*slot = (struct string_slot){
			strings->ids[i], {text, (uint32_t)strings->texts[i].len}};
		t->count++;
	}
	return 0;
}

struct string_ref string_table_get(const struct string_table *t, uint32_t id)
{
	static const struct string_ref nothing = {"", 0};
	if (!id || !t->capacity)
		return nothing;
	const struct string_slot *slot = slot_of(t, id);
	return slot->id ? slot->ref : nothing;
}
