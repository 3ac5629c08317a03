/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.c - records of calls of NVTX extensions: numbers and texts in the order of the columns of
 * the event.
 */
#define _GNU_SOURCE
#include "tracer/nvtx/rows.h"

#include "common/clock.h"
#include "common/nvtx/ext.h"
#include "common/text.h"
#include "tracer/session/fork.h"
#include "tracer/core/state.h"
#include "tracer/nvtx/handles.h"
#include "tracer/nvtx/record.h"
#include "tracer/nvtx/select.h"
#include "tracer/nvtx/text.h"
#include "unwind/stack.h"

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
	struct thread *t = event_enter();
	if (!t)
		return;
	unsigned slots = record_slots(bytes);
	uint64_t domain = (uint64_t)names_ref(row->domain) << 32, tick = clock_ticks();
	struct record *r = lane_room_soon(t, slots);
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
		return (struct ext_text){.name = handles_name((uint64_t)(uintptr_t)text)};
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
