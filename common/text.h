/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - string helpers for code inside a traced process. They call no libc function, since
 * another library may interpose it. All functions: any thread, async-signal-safe.
 */
#ifndef COMMON_TEXT_H
#define COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/machine.h"

/* Return the number of bytes before the terminating NUL. */
static inline size_t text_length(const char *s)
{
	size_t n = 0;
	while (s[n])
		n++;
	return n;
}

/* Return the number of bytes before the terminating NUL, or `most` if there is none before it. */
static inline size_t text_length_within(const char *s, size_t most)
{
	size_t n = 0;
	while (n < most && s[n])
		n++;
	return n;
}

/* Return true if two terminated texts are equal. */
static inline bool text_equal(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* Return true if `s` begins with `prefix`. */
static inline bool text_begins(const char *s, const char *prefix)
{
	while (*prefix && *s == *prefix)
		s++, prefix++;
	return !*prefix;
}

/* Return the part of a path after its last slash, or the whole path if there is none. */
static inline const char *text_base_name(const char *path)
{
	const char *base = path;
	for (; *path; path++)
		if (*path == '/')
			base = path + 1;
	return base;
}

/* Return true if the whole of the `bytes` bytes at `s` matches the pattern, in which '*' matches
 * any characters, and '?' any one. `end` is the end of the pattern. */
static inline bool text_part_matches(
	const char *s, size_t bytes, const char *pattern, const char *end)
{
	const char *star = NULL, *from = NULL, *s_end = s + bytes;
	while (s < s_end) {
		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			from = s;
			if (pattern == end)
				return true;
		} else if (pattern < end && (*pattern == '?' || *pattern == *s)) {
			pattern++, s++;
		} else if (star) {
			pattern = star;
			s = ++from;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

/* Return the same for a terminated text. */
static inline bool text_matches(const char *s, const char *pattern, const char *end)
{
	return text_part_matches(s, text_length(s), pattern, end);
}

/* Return the first occurrence of `part` in `s`, or NULL. */
static inline const char *text_find(const char *s, const char *part)
{
	for (; *s; s++)
		if (text_begins(s, part))
			return s;
	return *part ? NULL : s;
}

/* Copy `count` bytes between buffers that do not overlap. Replaces memcpy(), which may be
 * interposed. */
static inline void bytes_copy(void *to, const void *from, size_t count)
{
	machine_bytes_copy(to, from, count);
}

#define TEXT_PAGE_BYTES 4096u
#define TEXT_WORD_BYTES 16u /* what text_copy_most() may store behind the end of a text */

/* Copy a text of at most `most` bytes, without its NUL, and return its length; more than `most` if
 * it is longer. `to` has room for most + TEXT_WORD_BYTES bytes: whole words are stored. Nothing is
 * read beyond the page that holds the end of the text. */
__attribute__((no_sanitize("address"))) static inline uint32_t text_copy_most(
	char *to, const char *from, uint32_t most)
{
	uint32_t at = 0;
	while (at < most) {
		if (((uintptr_t)(from + at) & (TEXT_PAGE_BYTES - 1)) <=
			TEXT_PAGE_BYTES - TEXT_WORD_BYTES) {
			unsigned end = machine_text_copy16(to + at, from + at);
			if (end < TEXT_WORD_BYTES)
				return at + end;
			at += TEXT_WORD_BYTES;
		} else {
			to[at] = from[at];
			if (!from[at])
				return at;
			at++;
		}
	}
	return at == most && !from[at] ? at : most + 1;
}

/* Set `count` bytes to 0. Replaces memset(). */
static inline void bytes_clear(void *to, size_t count)
{
	typedef uint64_t __attribute__((may_alias, aligned(1))) word;
	char *at = to;
	for (; count >= sizeof(word); count -= sizeof(word), at += sizeof(word))
		*(volatile word *)(void *)at = 0;
	for (; count; count--)
		*(volatile char *)at++ = 0;
}

/*
 * Append to a fixed buffer: `at` is the length so far. Return the new length; text that does not
 * fit is cut. The result is always terminated if bytes > 0.
 */
static inline size_t text_append(char *buffer, size_t bytes, size_t at, const char *s)
{
	while (*s && at + 1 < bytes)
		buffer[at++] = *s++;
	if (bytes)
		buffer[at < bytes ? at : bytes - 1] = 0;
	return at;
}

/* Append a number in base 8 to 16, like text_append(). */
static inline size_t text_append_number(
	char *buffer, size_t bytes, size_t at, uint64_t number, unsigned base)
{
	char digits[24];
	size_t n = sizeof(digits);
	digits[--n] = 0;
	do
		digits[--n] = "0123456789abcdef"[number % base];
	while (number /= base);
	return text_append(buffer, bytes, at, digits + n);
}

/* Parse `s`, all of which must be an unsigned decimal number. Return false and leave *ret_number
 * unchanged if it is not. */
static inline bool text_to_number(const char *s, uint64_t *ret_number)
{
	uint64_t number = 0;
	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9' || number > (UINT64_MAX - 9) / 10)
			return false;
		number = number * 10 + (uint64_t)(*s - '0');
	}
	*ret_number = number;
	return true;
}

/* Return true if `s` is "1", "true", "yes" or "on". */
static inline bool text_is_true(const char *s)
{
	return text_equal(s, "1") || text_equal(s, "true") || text_equal(s, "yes") ||
		text_equal(s, "on");
}

#endif
