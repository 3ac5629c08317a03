/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_map.c - tests of map and pool, with keys that a hostile file could choose.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/map.h"
#include "reader/base/pool.h"
#include "tests/unit/tap.h"

#define KEYS 20000u

/* Sum the probe distances of all pairs: small if the hash spreads the keys. */
static uint64_t steps(const struct map *m)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < m->capacity; i++)
		if (m->slots[i].value)
			sum += (i - (uint32_t)hash_mix(m->slots[i].a, m->slots[i].b)) &
				(m->capacity - 1);
	return sum;
}

static void keys_spread(const char *name, unsigned shift_a, unsigned shift_b)
{
	struct map m = {0};
	uint32_t wrong = 0;
	for (uint32_t i = 0; i < KEYS; i++)
		wrong += map_put(&m, (uint64_t)i << shift_a, (uint64_t)i << shift_b, i + 1) != 0;
	for (uint32_t i = 0; i < KEYS; i++)
		wrong += map_get(&m, (uint64_t)i << shift_a, (uint64_t)i << shift_b) != i + 1;
	check(!wrong && m.count == KEYS, "%s: all keys are found", name);
	check(steps(&m) < 4 * KEYS, "%s: the hash spreads the keys", name);
	wrong = 0;
	for (uint32_t i = 0; i < KEYS; i++)
		wrong += map_get(&m, (uint64_t)i << shift_a, ((uint64_t)i << shift_b) + 1) != 0;
	check(!wrong, "%s: other keys are not found", name);
	map_release(&m);
}

static void values_change(void)
{
	struct map m = {0};
	check(map_get(&m, 1, 2) == 0, "an empty map finds no key");
	check(map_put(&m, 1, 2, 3) == 0 && map_put(&m, 1, 2, 4) == 0 && map_put(&m, 2, 1, 5) == 0,
		"a value is found after it was put");
	check(m.count == 2 && map_get(&m, 1, 2) == 4 && map_get(&m, 2, 1) == 5,
		"a later value of a key replaces the earlier one");
	map_release(&m);
}

static void texts_are_kept_once(void)
{
	struct pool p = {0};
	const char *kept[300];
	char text[400];
	uint32_t wrong = 0;
	memset(text, 'x', sizeof(text));
	for (uint32_t bytes = 0; bytes < 300; bytes++)
		kept[bytes] = pool_text(&p, text, bytes);
	for (uint32_t bytes = 0; bytes < 300; bytes++)
		wrong += !kept[bytes] || strlen(kept[bytes]) != bytes ||
			pool_text(&p, text, bytes) != kept[bytes];
	check(!wrong, "the pool stores strings of every length, each once");
	pool_release(&p);
}

int main(void)
{
	keys_spread("counting", 0, 0);
	keys_spread("addresses of pages", 12, 3);
	keys_spread("high bits of the first", 48, 63);
	keys_spread("high bits of the second", 63, 48);
	values_change();
	texts_are_kept_once();
	return tap_done();
}
