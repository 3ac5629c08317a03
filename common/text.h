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
