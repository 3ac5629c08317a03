/*
 * map.h - a hash from two numbers to one.
 *
 * All zero = empty; map_release() at the end. One thread; allocates.
 */
#ifndef READER_EXPORT_MAP_H
#define READER_EXPORT_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t a, b;
	uint32_t value; /* 0 = free */
};

struct map {
	struct map_slot *slots;
	uint32_t count, capacity;
};

void map_release(struct map *m);

/* 0 = not there. */
uint32_t map_get(const struct map *m, uint64_t a, uint64_t b);

/* Puts a value, not 0, in place of the one that is there. 0 or -ENOMEM. */
int map_put(struct map *m, uint64_t a, uint64_t b, uint32_t value);

#endif
