/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tracer/nvtx_ext.h"

#include <stddef.h>

#include "common/clock.h"
#include "common/text.h"
#include "tracer/nvtx_record.h"
#include "tracer/nvtx_select.h"
#include "tracer/nvtx_text.h"
#include "tracer/session.h"
#include "unwind/stack.h"

/* ---- rows ---- */

bool ext_is_on(const struct name *domain)
{
	return gate_is_open() && !nvtx_select_excludes(domain);
}

static uint32_t text_room(const struct ext_text *text)
{
	uint32_t bytes = text->name ? 0 : text->length;
	return (uint32_t)(sizeof(struct nvtx_ext_text) + ((bytes + 7) & ~7u));
}

static char *text_fill(char *at, const struct ext_text *text)
{
	struct nvtx_ext_text *out = (struct nvtx_ext_text *)(void *)at;
	out->bytes = text->name ? 0 : text->length;
	out->ref = names_ref(text->name);
	if (out->bytes)
		bytes_copy(out->text, text->bytes, out->bytes);
	return at + text_room(text);
}

void ext_put(const struct ext_row *row)
{
	uint64_t bytes = row->number_count * sizeof(uint64_t);
	if (!row->any_domain && nvtx_select_excludes(row->domain))
		return;
	for (uint32_t i = 0; i < row->text_count; i++)
		bytes += text_room(&row->texts[i]);
	struct thread *t = nvtx_enter();
	if (!t)
		return;
	unsigned slots = nvtx_slots(bytes);
	uint64_t domain = (uint64_t)names_ref(row->domain) << 32, tick = clock_ticks();
	struct record *r = nvtx_room(t, slots);
	if (r) {
		r->tick = tick;
		r->word = nvtx_word(REC_NVTX_EXT, 0, bytes);
		r->a = domain;
		r->b = NVTX_EXT_WORD(row->event, row->number_count, row->text_count);
		char *at = (char *)(r + 1);
		nvtx_words_copy(at, row->numbers, row->number_count * sizeof(uint64_t));
		at += row->number_count * sizeof(uint64_t);
		for (uint32_t i = 0; i < row->text_count; i++)
			at = text_fill(at, &row->texts[i]);
		lane_publish(t, slots);
	}
	thread_leave(t);
}

struct ext_text ext_chars(const char *text)
{
	uint32_t length = 0;
	while (text && length < NVTX_TEXT_BYTES && text[length])
		length++;
	if (length < NVTX_TEXT_BYTES || !text[length])
		return (struct ext_text){.bytes = text, .length = length};
	return (struct ext_text){.bytes = text,
		.length = nvtx_cut_length(text, NVTX_TEXT_BYTES),
		.name = nvtx_message_name(NVTX_TEXT_CHARS, text)};
}

struct ext_text ext_message(enum nvtx_text_kind kind, const void *text, char *room)
{
	bool cut;
	if (kind == NVTX_TEXT_CHARS)
		return ext_chars(text);
	if (kind == NVTX_TEXT_NAME)
		return (struct ext_text){.name = names_known((uint64_t)(uintptr_t)text)};
	if (kind != NVTX_TEXT_WIDE || !text)
		return (struct ext_text){0};
	struct ext_text made = {.bytes = room, .length = nvtx_wide_copy(room, text, &cut)};
	if (cut)
		made.name = nvtx_message_name(kind, text);
	return made;
}

static __thread uint64_t given_id __attribute__((tls_model("initial-exec")));

void ext_give_id(uint64_t id)
{
	given_id = id;
}

uint64_t ext_id(bool has_wanted, uint64_t wanted)
{
	static uint64_t last = NVTX_ID_DYNAMIC;
	if (__builtin_expect(given_id != 0, 0))
		return given_id;
	if (has_wanted && wanted >= NVTX_ID_STATIC && wanted < NVTX_ID_DYNAMIC)
		return wanted;
	return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

bool ext_readable(uint64_t address, uint64_t bytes)
{
	uint64_t page = address & ~(uint64_t)(STACK_PAGE_BYTES - 1);
	if (session.restricted || !address || bytes > UINT64_MAX - address)
		return false;
	for (; page < address + bytes; page += STACK_PAGE_BYTES)
		if (!stack_readable(page))
			return false;
	return true;
}

/* ---- semantics ---- */

static uint32_t limit_type(int64_t type)
{
	static const uint8_t types[] = {
		[1] = NVTX_VALUE_INT64, [2] = NVTX_VALUE_UINT64, [3] = NVTX_VALUE_DOUBLE};
	return type >= 0 && type < (int64_t)sizeof(types) ? types[type] : NVTX_VALUE_NONE;
}

#define SEMANTICS_MAX 16u /* of one counter or entry: the list may have no end */

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
		return NULL; /* what becomes of it later is not told with a domain */
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
