/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schemas.c - registered payload layouts: extents, and the offsets of texts and attributes.
 */
#define _GNU_SOURCE
#include "tracer/nvtx/schemas.h"

#include <stddef.h>

#include "common/sys.h"
#include "tracer/core/bounded_lock.h"
#include "tracer/nvtx/record.h"

#define BUCKETS 256u
#define BLOCK_BYTES 65536u

static struct schema *buckets[BUCKETS];
static char *block; /* free bytes of the last block */
static uint32_t block_left, bytes_used;
static uint32_t lock;

void schemas_forked(void)
{
	bounded_lock_give(&lock);
}

static struct schema **bucket_of(const struct name *domain, uint64_t id)
{
	uint64_t hash = (id ^ (uint64_t)(uintptr_t)domain >> 4) * UINT64_C(0x9e3779b97f4a7c15);
	return &buckets[hash >> 56];
}
_Static_assert(BUCKETS == 256, "eight bits of the hash");

const struct schema *schemas_find(const struct name *domain, uint64_t id)
{
	const struct schema *s = __atomic_load_n(bucket_of(domain, id), __ATOMIC_ACQUIRE);
	while (s && (s->id != id || s->domain != domain))
		s = s->next;
	return s;
}

/* Return memory for a layout, or NULL. Call with the lock held. */
static struct schema *memory_take(uint32_t places)
{
	uint32_t bytes = (uint32_t)(sizeof(struct schema) + places * sizeof(struct schema_place));
	bytes = (bytes + 7) & ~7u;
	if (bytes > block_left) {
		char *fresh = bytes_used + BLOCK_BYTES <= SCHEMAS_BYTES_MAX
			? sys_mmap_private(BLOCK_BYTES)
			: NULL;
		if (!fresh)
			return NULL;
		block = fresh;
		block_left = BLOCK_BYTES;
		bytes_used += BLOCK_BYTES;
	}
	struct schema *s = (struct schema *)(void *)block;
	block += bytes;
	block_left -= bytes;
	return s;
}

/* Add a layout. Call with the lock held. */
static void add(const struct schema *made, const struct schema_place *places)
{
	struct schema **bucket = bucket_of(made->domain, made->id), *s;
	s = memory_take(made->place_count);
	if (!s)
		return;
	*s = *made;
	for (uint32_t i = 0; i < made->place_count; i++)
		s->places[i] = places[i];
	s->next = *bucket; /* a later registration with the same id is found first */
	__atomic_store_n(bucket, s, __ATOMIC_RELEASE);
}

static void keep(const struct schema *made, const struct schema_place *places)
{
	if (bounded_lock_take(&lock)) {
		add(made, places);
		bounded_lock_give(&lock);
	}
}

struct places {
	struct schema_place at[SCHEMA_PLACES_MAX];
	uint32_t count;
};

/* Add a place. Return false if there is no room for more, or if the place, and so every later one,
 * is after the bytes that are copied. */
static bool place_add(struct places *p, const struct schema_place *place, uint64_t offset)
{
	if (p->count == SCHEMA_PLACES_MAX || offset > NVTX_PAYLOAD_BYTES_MAX)
		return false;
	p->at[p->count] = *place;
	p->at[p->count++].offset = (uint32_t)offset;
	return true;
}

/* Add the places of a nested layout. The program may specify any length of an array. */
static void nested_look(
	struct places *p, const struct schema *nested, uint64_t begin, uint64_t count)
{
	for (uint64_t i = 0; nested->place_count && i < count; i++)
		for (uint32_t n = 0; n < nested->place_count; n++)
			if (!place_add(p, &nested->places[n],
				    begin + i * nested->extent.bytes + nested->places[n].offset))
				return;
}

/* Add the places of an entry that begins at `begin`. */
static void entry_look(struct places *p, const struct nvtx_schema_entry *e, uint64_t begin,
	const struct schema *nested)
{
	uint64_t array = e->flags & NVTX_ENTRY_ARRAY;
	uint64_t count = array == NVTX_ARRAY_FIXED ? e->detail : 1;
	if (e->flags & NVTX_ENTRY_ELSEWHERE && !nvtx_type_is_text(e->type))
		return;
	if (nested && nested->extent.bytes == NVTX_BYTES_UNKNOWN)
		count = 1;
	if (nested && (!array || array == NVTX_ARRAY_FIXED)) {
		nested_look(p, nested, begin, count);
		return;
	}
	struct schema_place place = {
		.type = (uint16_t)e->type, .is_message = (e->flags & NVTX_ENTRY_MESSAGE) != 0};
	bool is_text = nvtx_type_is_text(e->type);
	if (is_text && (!array || array == NVTX_ARRAY_FIXED || array == NVTX_ARRAY_TERMINATED)) {
		place.is_pointer = e->flags & NVTX_ENTRY_POINTER ||
			nvtx_entry_is_text_pointer(e->flags, e->type, e->detail);
		place.units = array == NVTX_ARRAY_TERMINATED ? 0 : (uint32_t)e->detail;
		if ((place.is_pointer || place.is_message) &&
			!(e->flags & (NVTX_ENTRY_FROM_BASE | NVTX_ENTRY_FROM_HERE)))
			place_add(p, &place, begin);
	} else if (e->type == NVTX_TYPE_STRING_HANDLE && (!array || array == NVTX_ARRAY_FIXED)) {
		for (uint64_t i = 0; i < count; i++)
			if (!place_add(p, &place, begin + i * sizeof(uint64_t)))
				return;
	} else if ((e->type == NVTX_TYPE_CATEGORY || e->type == NVTX_TYPE_COLOR) && !array) {
		place_add(p, &place, begin);
	}
}

void schemas_add(const struct name *domain, uint64_t id, const struct nvtx_schema_attributes *a)
{
	struct places places;
	struct schema made = {.domain = domain, .id = id, .extent = {0, 1}};
	bool is_struct = a->layout == NVTX_LAYOUT_STATIC || a->layout == NVTX_LAYOUT_DYNAMIC;
	uint64_t pack = a->mask & NVTX_SCHEMA_HAS_ALIGNMENT ? a->pack_bytes : 0;
	places.count = 0;
	for (uint64_t i = 0; i < a->entry_count; i++) {
		const struct nvtx_schema_entry *e = &a->entries[i];
		const struct schema *nested =
			e->type >= NVTX_ID_STATIC ? schemas_find(domain, e->type) : NULL;
		struct nvtx_extent element = nested ? nested->extent : nvtx_type_extent(e->type),
				   own = nvtx_entry_extent(e->flags, e->type, e->detail, element);
		uint64_t begin = is_struct
			? nvtx_entry_begin(i, e->offset, made.extent.bytes, own.align, pack)
			: e->offset;
		if (is_struct)
			entry_look(&places, e, begin, nested);
		if (own.align > made.extent.align)
			made.extent.align = own.align;
		if (own.bytes >= NVTX_PAYLOAD_BYTES_MAX || begin >= NVTX_PAYLOAD_BYTES_MAX) {
			made.extent.bytes = NVTX_BYTES_UNKNOWN;
			break; /* each payload gives the position of the rest */
		}
		if (begin + own.bytes > made.extent.bytes)
			made.extent.bytes = begin + own.bytes;
	}
	if (pack && pack < made.extent.align)
		made.extent.align = (uint32_t)pack;
	if (made.extent.bytes != NVTX_BYTES_UNKNOWN)
		made.extent.bytes = nvtx_entry_begin(1, 0, made.extent.bytes, made.extent.align, 0);
	if (a->mask & NVTX_SCHEMA_HAS_SIZE && a->layout != NVTX_LAYOUT_DYNAMIC && a->static_bytes)
		made.extent.bytes = a->static_bytes;
	made.place_count = places.count;
	keep(&made, places.at);
}

void schemas_add_enum(const struct name *domain, uint64_t id, uint64_t bytes)
{
	const struct schema made = {.domain = domain,
		.id = id,
		.extent = {bytes,
			bytes && bytes <= 8 && !(bytes & (bytes - 1)) ? (uint32_t)bytes : 1}};
	keep(&made, NULL);
}
