/* nvtx_long.c - texts of NVTX that are longer than a record has room for. */
#define _GNU_SOURCE
#include "common/spool.h"
#include "common/sys.h"
#include "tracer/names.h"
#include "tracer/nvtx_text.h"
#include "tracer/osrt.h"
#include "tracer/thread.h"

/* A copy in UTF-8; NULL = no memory. */
static char *wide_text(const wchar_t *text, uint32_t *ret_bytes, bool *ret_cut)
{
	char *copy = sys_mmap_private(NAME_BYTES_MAX);
	if (copy)
		*ret_bytes = nvtx_wide_copy_most(copy, text, NAME_BYTES_MAX, ret_cut);
	return copy;
}

struct name *nvtx_long_name(enum nvtx_text_kind kind, const void *text)
{
	uint32_t bytes = 0;
	bool is_cut = false;
	const char *chars = text;
	char *copy = NULL;
	if (kind == NVTX_TEXT_WIDE) {
		chars = copy = wide_text(text, &bytes, &is_cut);
		if (!copy)
			return NULL;
	} else {
		while (bytes < NAME_BYTES_MAX && chars[bytes])
			bytes++;
		is_cut = bytes == NAME_BYTES_MAX && chars[bytes];
		if (is_cut)
			bytes = nvtx_cut_length(chars, NAME_BYTES_MAX);
	}
	struct name *name = names_intern_long(chars, bytes, is_cut);
	if (copy)
		sys_munmap(copy, NAME_BYTES_MAX);
	return name;
}

struct name *nvtx_message_name(enum nvtx_text_kind kind, const void *text)
{
	struct thread *t = &thread_self;
	if (kind == NVTX_TEXT_NAME)
		return (struct name *)(uintptr_t)text;
	osrt_mend_busy(t);
	if (t->busy || kind == NVTX_TEXT_NONE)
		return NULL;
	thread_enter(t);
	struct name *name = nvtx_long_name(kind, text);
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
