/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.c - texts of programs as UTF-8.
 */
#define _GNU_SOURCE
#include "common/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ESCAPE_BYTES 4u /* \xNN */

/* Return the length of the UTF-8 character at `t`, 0 if there is none. */
static size_t character_bytes(const unsigned char *t, size_t left)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	if (*t < 0x80)
		return 1;
	size_t bytes = *t >= 0xf8 ? 0 : *t >= 0xf0 ? 4 : *t >= 0xe0 ? 3 : *t >= 0xc2 ? 2 : 0;
	uint32_t number = bytes ? *t & (0xffu >> (bytes + 1)) : 0;
	if (bytes > left)
		return 0;
	for (size_t i = 1; i < bytes; i++) {
		if ((t[i] & 0xc0) != 0x80)
			return 0;
		number = number << 6 | (t[i] & 0x3f);
	}
	bool fits = bytes && number >= least[bytes] && number <= 0x10ffff &&
		(number < 0xd800 || number > 0xdfff);
	return fits ? bytes : 0;
}

size_t utf8_clean_bytes(const char *text, size_t bytes)
{
	size_t bad = 0;
	for (size_t i = 0, n; i < bytes; i += n ? n : 1) {
		n = character_bytes((const unsigned char *)text + i, bytes - i);
		bad += !n;
	}
	return bytes + bad * (ESCAPE_BYTES - 1);
}

void utf8_clean(const char *text, size_t bytes, char *out)
{
	for (size_t i = 0, n; i < bytes; i += n ? n : 1) {
		n = character_bytes((const unsigned char *)text + i, bytes - i);
		if (n)
			out = mempcpy(out, text + i, n);
		else
			out += snprintf(out, ESCAPE_BYTES + 1, "\\x%02x", (unsigned char)text[i]);
	}
	*out = 0;
}
