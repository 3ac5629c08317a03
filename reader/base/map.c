/* SPDX-License-Identifier: Apache-2.0 */
/* map.c - growable hash table from two numbers to one. */
#include "reader/base/map.h"

#include <errno.h>
#include <stdlib.h>

void map_release(struct map *m)
{
	free(m->slots);
	*m = (struct map){0};
}

int map_put(struct map *m, uint64_t a, uint64_t b, uint32_t value)
{
	if (m->count >= m->capacity / 2) {
		struct map old = *m;
		if (old.capacity >= MAP_SLOTS_MAX)
			return -ENOMEM;
		m->capacity = old.capacity ? old.capacity * 2 : 256;
		m->slots = calloc(m->capacity, sizeof(*m->slots));
		if (!m->slots) {
			*m = old;
			return -ENOMEM;
		}
		for (uint32_t i = 0; i < old.capacity; i++)
			if (old.slots[i].value)
				*map_slot_of(m, old.slots[i].a, old.slots[i].b) = old.slots[i];
		free(old.slots);
	}
	struct map_slot *slot = map_slot_of(m, a, b);
	m->count += !slot->value;
	*slot = (struct map_slot){a, b, value};
	return 0;
}
