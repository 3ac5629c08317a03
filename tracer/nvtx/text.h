/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - texts of NVTX calls on their way into a record: length and copy in one pass.
 *
 * Any thread, async-signal-safe. `to` has room for NVTX_TEXT_BYTES + 16 bytes: whole words are
 * stored. Nothing is read beyond the page that holds the end of a text.
 */
#ifndef TRACER_NVTX_TEXT_H
#define TRACER_NVTX_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include "common/spool.h"
#include "common/text.h"
#include "machine/machine.h"
#include "tracer/nvtx/ranges.h"

/* Copy `bytes`, rounded up to whole words of 8; both buffers have room for that many. */
static inline void nvtx_words_copy(void *to, const void *from, size_t bytes)
{
	typedef uint64_t word __attribute__((may_alias, aligned(8)));
	word *t = to;
	const word *f = from;
	for (size_t i = 0; i < (bytes + 7) / 8; i++) {
		t[i] = f[i];
		__asm__ volatile(""
				 :
				 :
				 : "memory"); /* otherwise the compiler emits a call of memcpy */
	}
}

/* Return the length of a text that is cut at `most` bytes: it ends before the UTF-8 character
 * that does not fit. */
static inline uint32_t nvtx_cut_length(const char *text, uint32_t most)
{
	uint32_t bytes = most;
	while (bytes > most - 3 && ((unsigned char)text[bytes] & 0xc0) == 0x80)
		bytes--;
	return ((unsigned char)text[bytes] & 0xc0) == 0x80 ? most : bytes;
}

static inline uint32_t nvtx_chars_copy(char *to, const char *from, bool *ret_cut)
{
	uint32_t bytes = text_copy_most(to, from, NVTX_TEXT_BYTES);
	*ret_cut = bytes > NVTX_TEXT_BYTES;
	return *ret_cut ? nvtx_cut_length(from, NVTX_TEXT_BYTES) : bytes;
}

/* Append a character after `at` bytes, U+FFFD for an invalid one. Return the new length; 0 = there
 * is no room within `most`. */
static inline uint32_t nvtx_character_put(char *to, uint32_t at, uint32_t c, uint32_t most)
{
	static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	uint32_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	if (at + bytes > most)
		return 0;
	for (uint32_t i = bytes - 1; i > 0; i--, c >>= 6)
		to[at + i] = (char)(0x80 | (c & 0x3f));
	to[at] = (char)(lead[bytes] | c);
	return at + bytes;
}

/* Convert to UTF-8; an invalid character becomes U+FFFD. Return the bytes. */
static inline uint32_t nvtx_wide_copy_most(
	char *to, const wchar_t *from, uint32_t most, bool *ret_cut)
{
	uint32_t at = 0;
	*ret_cut = false;
	for (; *from; from++) {
		uint32_t end = nvtx_character_put(to, at, (uint32_t)*from, most);
		if (!end) {
			*ret_cut = true;
			return at;
		}
		at = end;
	}
	return at;
}

static inline uint32_t nvtx_wide_copy(char *to, const wchar_t *from, bool *ret_cut)
{
	return nvtx_wide_copy_most(to, from, NVTX_TEXT_BYTES, ret_cut);
}

/* Return the whole text, at most NAME_BYTES_MAX bytes, as a name that is in no domain; NULL if
 * there is no room for more such names. thread.busy set; may map memory. */
__attribute__((cold, noinline)) struct name *nvtx_long_name(
	enum nvtx_text_kind kind, const void *text);

/* Return the text as the name of a domain; *ret_is_new is as in names_intern(). */
__attribute__((cold, noinline)) struct name *nvtx_long_domain(
	enum nvtx_text_kind kind, const void *text, bool *ret_is_new);

/* Return a name as above for `count` bytes of any text, at most NAME_BYTES_MAX, by a caller without
 * thread.busy. Return NULL also if a handler interrupted the tracer. */
__attribute__((cold, noinline)) struct name *nvtx_bytes_name(
	const char *bytes, uint32_t count, bool is_cut);

/* Return a name as above for a text of a kind, by a caller without thread.busy. Return NULL also
 * if a handler interrupted the tracer. A name is returned as it is. */
__attribute__((cold, noinline)) struct name *nvtx_message_name(
	enum nvtx_text_kind kind, const void *text);

/* Append, after the first `bytes` bytes of a text, a reference to the rest of a longer text. Return
 * the length of both. */
__attribute__((cold, noinline)) uint32_t nvtx_long_put(
	char *to, uint32_t bytes, enum nvtx_text_kind kind, const void *text);

#endif
