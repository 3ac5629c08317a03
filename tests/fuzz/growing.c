/* SPDX-License-Identifier: Apache-2.0 */
/* growing.c - a byte buffer that grows up to a limit, with a source of random numbers. */
#include "tests/fuzz/growing.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/mutate.h"

#define ROOM_TO_GROW 64u

struct growing growing_new(size_t max, unsigned seed)
{
	return (struct growing){.max = max, .state = (seed + 1ull) * 0x9e3779b97f4a7c15ull};
}

struct growing growing_child(struct growing *g)
{
	return (struct growing){.max = g->max, .parent = g};
}

void growing_free(struct growing *g)
{
	free(g->data);
	g->data = NULL;
}

uint64_t growing_random(struct growing *g)
{
	while (g->parent)
		g = g->parent;
	uint64_t x = g->state;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (g->state = x) >> 11;
}

static void reserve(struct growing *g, size_t bytes)
{
	if (bytes <= g->capacity)
		return;
	g->capacity = 2 * bytes + ROOM_TO_GROW;
	g->data = realloc(g->data, g->capacity);
	if (!g->data)
		abort();
}

void growing_put(struct growing *g, const void *data, size_t bytes)
{
	if (bytes > g->max - g->bytes)
		g->is_full = true;
	if (g->is_full || !bytes)
		return;
	reserve(g, g->bytes + bytes);
	memcpy(g->data + g->bytes, data, bytes);
	g->bytes += bytes;
}

void growing_mutate(struct growing *g)
{
	reserve(g, g->bytes + ROOM_TO_GROW);
	g->bytes = LLVMFuzzerMutate(g->data, g->bytes, g->bytes + ROOM_TO_GROW);
}

size_t growing_varint(uint8_t *out, uint64_t value)
{
	size_t bytes = 0;
	for (; value > 127; value >>= 7)
		out[bytes++] = (uint8_t)value | 128;
	out[bytes++] = (uint8_t)value;
	return bytes;
}

void growing_put_varint(struct growing *g, uint64_t value)
{
	uint8_t out[10];
	growing_put(g, out, growing_varint(out, value));
}

void growing_put_key(struct growing *g, uint32_t number, unsigned wire)
{
	growing_put_varint(g, (uint64_t)number << 3 | wire);
}

void growing_put_child(struct growing *g, struct growing *child)
{
	growing_put_varint(g, child->bytes);
	growing_put(g, child->data, child->bytes);
	g->is_full |= child->is_full;
	growing_free(child);
}
