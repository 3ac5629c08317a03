/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extensions.c - semantics, scopes and synchronization objects of NVTX.
 */
#define _GNU_SOURCE
#include "tracer/nvtx/extensions.h"

#include <stddef.h>

#include "tracer/session/fork.h"
#include "tracer/nvtx/select.h"

/* ---- semantics ---- */

static uint32_t limit_type(int64_t type)
{
	static const uint8_t types[] = {
		[1] = NVTX_VALUE_INT64, [2] = NVTX_VALUE_UINT64, [3] = NVTX_VALUE_DOUBLE};
	return type >= 0 && type < (int64_t)sizeof(types) ? types[type] : NVTX_VALUE_NONE;
}

#define SEMANTICS_MAX 16u /* semantics of one counter or entry: the list may be endless */

void ext_semantics(struct name *domain, uint64_t counter, uint64_t schema, uint64_t index,
	const struct nvtx_semantics *first)
{
	uint32_t seen = 0;
	for (const struct nvtx_semantics *s = first; s && seen < SEMANTICS_MAX;
		s = s->next, seen++) {
		struct nvtx_semantics_counter c = {.header = {.semantic = s->semantic}};
		uint64_t value = 0;
		if ((s->semantic == NVTX_SEMANTIC_SCOPE || s->semantic == NVTX_SEMANTIC_TIME) &&
			s->struct_bytes >= sizeof(struct nvtx_semantics_id))
			value = ((const struct nvtx_semantics_id *)(const void *)s)->id;
		else if (s->semantic == NVTX_SEMANTIC_COUNTER && s->struct_bytes >= sizeof(c))
			c = *(const struct nvtx_semantics_counter *)(const void *)s;
		if (s->semantic == NVTX_SEMANTIC_TIME)
			nvtx_clock_follow(domain, value);
		uint32_t type = limit_type(c.limit_type);
		uint32_t low = c.flags & NVTX_COUNTER_HAS_MINIMUM ? type : NVTX_VALUE_NONE,
			 high = c.flags & NVTX_COUNTER_HAS_MAXIMUM ? type : NVTX_VALUE_NONE;
		ext_put(&(struct ext_row){.event = EXT_NVTX_SEMANTICS,
			.domain = domain,
			EXT_NUMBERS(counter, schema, index, s->semantic, value | c.flags,
				c.numerator, c.denominator, low, low ? c.minimum : 0, high,
				high ? c.maximum : 0),
			.texts = {ext_chars(c.unit)},
			.text_count = 1});
	}
}

/* ---- scopes ---- */

uint64_t nvtx_scope_register(struct name *domain, const struct nvtx_scope_attributes *a)
{
	if (!a || a->struct_bytes < sizeof(*a))
		return 0;
	uint64_t id = ext_id(true, a->id);
	ext_put(&(struct ext_row){.event = EXT_NVTX_SCOPE,
		.domain = domain,
		EXT_NUMBERS(id, a->parent),
		.texts = {ext_chars(a->path)},
		.text_count = 1});
	return id;
}

/* ---- synchronization objects ---- */

static void object_put(struct name *domain, enum nvtx_sync_what what, const void *object,
	const struct ext_text *name)
{
	ext_put(&(struct ext_row){.event = EXT_NVTX_SYNC,
		.any_domain = true,
		.domain = domain,
		EXT_NUMBERS(what, (uint64_t)(uintptr_t)object),
		.texts = {*name},
		.text_count = 1});
}

void *nvtx_sync_create(struct name *domain, const struct nvtx_sync_attributes *a)
{
	char room[EXT_ROOM_BYTES];
	struct ext_text name = {0};
	void *object = (void *)(uintptr_t)ext_id(false, 0);
	if (nvtx_select_excludes(domain))
		return NULL; /* later events of the object have no domain by which they could be
				filtered */
	if (a && a->size >= sizeof(*a))
		name = ext_message(nvtx_text_kind(a->message_type), a->message, room);
	object_put(domain, NVTX_SYNC_CREATE, object, &name);
	return object;
}

static void object_event(enum nvtx_sync_what what, const void *object)
{
	static const struct ext_text none;
	if (object && gate_is_open())
		object_put(NULL, what, object, &none);
}

void nvtx_sync_destroy(void *object)
{
	object_event(NVTX_SYNC_DESTROY, object);
}

void nvtx_sync_acquire_start(void *object)
{
	object_event(NVTX_SYNC_ACQUIRE_START, object);
}

void nvtx_sync_acquire_failed(void *object)
{
	object_event(NVTX_SYNC_ACQUIRE_FAILED, object);
}

void nvtx_sync_acquire_success(void *object)
{
	object_event(NVTX_SYNC_ACQUIRE_SUCCESS, object);
}

void nvtx_sync_releasing(void *object)
{
	object_event(NVTX_SYNC_RELEASING, object);
}
