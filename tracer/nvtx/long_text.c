/* SPDX-License-Identifier: Apache-2.0 */
/* long_text.c - texts of NVTX that do not fit in a record. */
#define _GNU_SOURCE
#include "common/spool.h"
#include "common/sys.h"
#include "tracer/core/names.h"
#include "tracer/nvtx/text.h"
#include "tracer/core/thread.h"

/* A whole text of at most NAME_BYTES_MAX bytes; a wide one is converted into a copy. */
struct whole {
	const char *chars;
	char *copy;
	uint32_t bytes;
	bool is_cut;
};

/* Fill `w`. Return false without memory for the copy. */
static bool whole_find(struct whole *w, enum nvtx_text_kind kind, const void *text)
{
	*w = (struct whole){.chars = text};
	if (kind == NVTX_TEXT_WIDE) {
		w->chars = w->copy = sys_mmap_private(NAME_BYTES_MAX);
		if (w->copy)
			w->bytes = nvtx_wide_copy_most(w->copy, text, NAME_BYTES_MAX, &w->is_cut);
		return w->copy != NULL;
	}
	while (w->bytes < NAME_BYTES_MAX && w->chars[w->bytes])
		w->bytes++;
	w->is_cut = w->bytes == NAME_BYTES_MAX && w->chars[w->bytes];
	if (w->is_cut)
		w->bytes = nvtx_cut_length(w->chars, NAME_BYTES_MAX);
	return true;
}

static void whole_forget(const struct whole *w)
{
	if (w->copy)
		sys_munmap(w->copy, NAME_BYTES_MAX);
}

struct name *nvtx_long_name(enum nvtx_text_kind kind, const void *text)
{
	struct whole w;
	if (!whole_find(&w, kind, text))
		return NULL;
	struct name *name = names_intern_long(w.chars, w.bytes, w.is_cut);
	whole_forget(&w);
	return name;
}

struct name *nvtx_long_domain(enum nvtx_text_kind kind, const void *text, bool *ret_is_new)
{
	struct whole w;
	if (!whole_find(&w, kind, text))
		return NULL;
	struct name *name = names_intern(true, NULL, w.chars, w.bytes, w.is_cut, ret_is_new);
	whole_forget(&w);
	return name;
}

struct name *nvtx_message_name(enum nvtx_text_kind kind, const void *text)
{
	struct thread *t = &thread_self;
	if (kind == NVTX_TEXT_NAME)
		return (struct name *)(uintptr_t)text;
	thread_mend_guard(t);
	if (t->busy || kind == NVTX_TEXT_NONE)
		return NULL;
	thread_enter(t);
	struct name *name = nvtx_long_name(kind, text);
	thread_leave(t);
	return name;
}

struct name *nvtx_bytes_name(const char *bytes, uint32_t count, bool is_cut)
{
	struct thread *t = &thread_self;
	thread_mend_guard(t);
	if (t->busy)
		return NULL;
	thread_enter(t);
	struct name *name = names_intern_long(bytes, count, is_cut);
	thread_leave(t);
	return name;
}

uint32_t nvtx_long_put(char *to, uint32_t bytes, enum nvtx_text_kind kind, const void *text)
{
	struct name *name = nvtx_long_name(kind, text);
	const struct nvtx_long rest = {.ref = names_ref(name),
		.bytes = (uint16_t)bytes,
		.is_cut = !name || !name->ref || name->is_cut};
	*(struct nvtx_long *)(void *)(to + NVTX_TEXT_BYTES) = rest;
	return NVTX_TEXT_ROOM_BYTES;
}
