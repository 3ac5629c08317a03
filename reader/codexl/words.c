/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - splits lines of files of CodeXL into words and numbers. */
#include "reader/codexl/words.h"

#include <stdlib.h>
#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

struct codexl_word codexl_word(struct codexl_words *w)
{
	while (w->at < w->end && is_blank(*w->at))
		w->at++;
	const char *begin = w->at;
	while (w->at < w->end && !is_blank(*w->at))
		w->at++;
	return (struct codexl_word){begin, (size_t)(w->at - begin)};
}

struct codexl_word codexl_rest(const struct codexl_words *w)
{
	const char *at = w->at, *end = w->end;
	while (at < end && is_blank(*at))
		at++;
	while (end > at && is_blank(end[-1]))
		end--;
	return (struct codexl_word){at, (size_t)(end - at)};
}

const char *codexl_text(struct codexl_file *f, struct codexl_word word)
{
	return pool_text(f->pool, word.at, word.bytes);
}

const char *codexl_decoded(struct codexl_file *f, struct codexl_word word, bool commas)
{
	static const char blank[] = "&nbsp;", comma[] = "&comma;";
	const size_t blank_bytes = sizeof(blank) - 1, comma_bytes = sizeof(comma) - 1;
	char *text = malloc(word.bytes + 1);
	size_t bytes = 0, at = 0;
	if (!text)
		return NULL;
	while (at < word.bytes) {
		size_t left = word.bytes - at;
		if (left >= blank_bytes && !memcmp(word.at + at, blank, blank_bytes)) {
			text[bytes++] = ' ';
			at += blank_bytes;
		} else if (commas && left >= comma_bytes &&
			!memcmp(word.at + at, comma, comma_bytes)) {
			text[bytes++] = ',';
			at += comma_bytes;
		} else {
			text[bytes++] = word.at[at++];
		}
	}
	const char *kept = pool_text(f->pool, text, bytes);
	free(text);
	return kept;
}

/* Parse the word from `at` on as digits of a base. */
static bool digits_take(struct codexl_word word, size_t at, unsigned base, uint64_t *ret_number)
{
	uint64_t number = 0;
	if (at >= word.bytes)
		return false;
	for (; at < word.bytes; at++) {
		unsigned char c = (unsigned char)word.at[at];
		unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0')
			: c >= 'a' && c <= 'f'        ? (unsigned)(c - 'a') + 10u
			: c >= 'A' && c <= 'F'        ? (unsigned)(c - 'A') + 10u
						      : 16u;
		if (digit >= base || __builtin_mul_overflow(number, base, &number) ||
			__builtin_add_overflow(number, digit, &number))
			return false;
	}
	*ret_number = number;
	return true;
}

bool codexl_number(struct codexl_word word, uint64_t most, uint64_t *ret_number)
{
	return digits_take(word, 0, 10, ret_number) && *ret_number <= most;
}

bool codexl_handle(struct codexl_word word, uint64_t *ret_handle)
{
	*ret_handle = 0;
	if (word.bytes == 4 && !memcmp(word.at, "NULL", 4))
		return true;
	return word.bytes > 2 && word.at[0] == '0' && (word.at[1] | 0x20) == 'x' &&
		digits_take(word, 2, 16, ret_handle);
}

/* Parse `{1,2,3}` with one to three numbers; missing numbers are 1. */
static bool sizes_take(struct codexl_word word, uint64_t *ret_sizes)
{
	size_t at = 1;
	if (word.bytes < 3 || word.at[0] != '{' || word.at[word.bytes - 1] != '}')
		return false;
	for (unsigned i = 0; i < 3; i++) {
		struct codexl_word number = {word.at + at, 0};
		ret_sizes[i] = 1;
		if (at >= word.bytes)
			continue;
		while (at < word.bytes - 1 && word.at[at] != ',')
			at++;
		number.bytes = (size_t)(word.at + at - number.at);
		if (!codexl_number(number, UINT32_MAX, &ret_sizes[i]))
			return false;
		at++;
	}
	return at >= word.bytes;
}

void codexl_sizes(struct codexl_word global, struct codexl_word group, struct codexl_sizes *ret)
{
	uint64_t items[3], block[3];
	*ret = (struct codexl_sizes){0};
	if (!sizes_take(global, items) || !sizes_take(group, block))
		return;
	for (unsigned i = 0; i < 3; i++) {
		if (!items[i] || !block[i]) {
			*ret = (struct codexl_sizes){0};
			return;
		}
		ret->block[i] = (uint32_t)block[i];
		ret->grid[i] = (uint32_t)((items[i] + block[i] - 1) / block[i]);
	}
}
