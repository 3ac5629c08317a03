/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.h - hash table from a pair of numbers to a number, usually an index into an array of the
 * owner.
 *
 * To use a text as a key, intern it in a pool (pool.h) and pass its address.
 *
 * All zero = empty; map_release() at the end. One thread; allocates.
 */
#ifndef READER_BASE_MAP_H
#define READER_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "reader/base/hash.h"

#define MAP_SLOTS_MAX (1u << 31)

struct map_slot {
	uint64_t a, b;
	uint32_t value; /* 0 = free */
};

struct map {
	struct map_slot *slots;
	uint32_t count, capacity;
};

/* Free the table and leave it empty. */
void map_release(struct map *m);

/* Return the slot of the pair, or the free slot where it would be inserted. The map must have
 * slots. */
static inline struct map_slot *map_slot_of(const struct map *m, uint64_t a, uint64_t b)
{
	uint32_t i = (uint32_t)hash_mix(a, b) & (m->capacity - 1);
	while (m->slots[i].value && (m->slots[i].a != a || m->slots[i].b != b))
		i = (i + 1) & (m->capacity - 1);
	return &m->slots[i];
}

/* Return the value of the pair; 0 = not found. */
static inline uint32_t map_get(const struct map *m, uint64_t a, uint64_t b)
{
	return m->capacity ? map_slot_of(m, a, b)->value : 0;
}

/* Store a value other than 0, replacing the old one. Returns 0, or -ENOMEM with the map unchanged
 * if memory is short or the map has more than MAP_SLOTS_MAX / 2 pairs. */
int map_put(struct map *m, uint64_t a, uint64_t b, uint32_t value);

#endif
