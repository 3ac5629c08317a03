#include "reader/export/map.h"

#include <errno.h>
#include <stdlib.h>

void map_release(struct map *m)
{
	free(m->slots);
	*m = (struct map){0};
}

static struct map_slot *slot_of(const struct map *m, uint64_t a, uint64_t b)
{
	uint64_t hash = a * UINT64_C(0x9e3779b97f4a7c15) ^ b * UINT64_C(0xc2b2ae3d27d4eb4f);
	uint32_t i = (uint32_t)(hash ^ hash >> 32) & (m->capacity - 1);
	while (m->slots[i].value && (m->slots[i].a != a || m->slots[i].b != b))
		i = (i + 1) & (m->capacity - 1);
	return &m->slots[i];
}

uint32_t map_get(const struct map *m, uint64_t a, uint64_t b)
{
	return m->capacity ? slot_of(m, a, b)->value : 0;
}

int map_put(struct map *m, uint64_t a, uint64_t b, uint32_t value)
{
	if (m->count * 2 >= m->capacity) {
		struct map old = *m;
		m->capacity = old.capacity ? old.capacity * 2 : 256;
		m->slots = calloc(m->capacity, sizeof(*m->slots));
		if (!m->slots) {
			*m = old;
			return -ENOMEM;
		}
		for (uint32_t i = 0; i < old.capacity; i++)
			if (old.slots[i].value)
				*slot_of(m, old.slots[i].a, old.slots[i].b) = old.slots[i];
		free(old.slots);
	}
	struct map_slot *slot = slot_of(m, a, b);
	m->count += !slot->value;
	*slot = (struct map_slot){a, b, value};
	return 0;
}
