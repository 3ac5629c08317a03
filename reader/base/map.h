/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.h - a hash from two numbers to one; mostly the place of something in an array of the owner.
 * A text is the number of its address where a pool (pool.h) keeps it once.
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

void map_release(struct map *m);

/* The slot of the pair, or the free one where it belongs. The map has slots. */
static inline struct map_slot *map_slot_of(const struct map *m, uint64_t a, uint64_t b)
{
	uint32_t i = (uint32_t)hash_mix(a, b) & (m->capacity - 1);
	while (m->slots[i].value && (m->slots[i].a != a || m->slots[i].b != b))
		i = (i + 1) & (m->capacity - 1);
	return &m->slots[i];
}

/* 0 = not there. */
static inline uint32_t map_get(const struct map *m, uint64_t a, uint64_t b)
{
	return m->capacity ? map_slot_of(m, a, b)->value : 0;
}

/* Puts a value, not 0, in place of the one that is there. 0, or -ENOMEM and nothing has changed: no
 * memory, or more than MAP_SLOTS_MAX / 2 pairs. */
int map_put(struct map *m, uint64_t a, uint64_t b, uint32_t value);

#endif
