/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prototype.c - prototype lines: which words of a call to keep, and their names.
 */
#include "common/schema/prototype.h"

#include <stddef.h>

#include "common/text.h"

/* Return the names of the types, in the order of enum word_type, separated by blanks. */
static const char *type_names(void)
{
	return "word ptr int uint long ulong ";
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_name_byte(char c, bool is_first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
		(!is_first && c >= '0' && c <= '9');
}

/* Return the end of the name that begins at `s`; `s` if there is none. */
static const char *name_end(const char *s, const char *end)
{
	const char *begin = s;
	while (s < end && is_name_byte(*s, s == begin))
		s++;
	return s;
}

static const char *blanks_skip(const char *s, const char *end)
{
	while (s < end && is_blank(*s))
		s++;
	return s;
}

/* Find the type of this name. */
static bool type_find(const char *name, size_t bytes, uint8_t *ret_type)
{
	uint8_t type = 0;
	for (const char *s = type_names(); *s; s++, type++) {
		size_t i = 0;
		while (i < bytes && s[i] == name[i])
			i++;
		if (i == bytes && s[i] == ' ') {
			*ret_type = type;
			return true;
		}
		while (*s != ' ')
			s++;
	}
	return false;
}

/* Read "[TYPE] NAME" or "_", at *text; go to its end. */
static bool word_read(const char **text, const char *end, struct prototype_word *ret_word)
{
	const char *name = blanks_skip(*text, end), *past = name_end(name, end);
	const char *next = blanks_skip(past, end);
	uint8_t type = WORD_PLAIN;
	if (next < end && *next != ',') {
		if (!type_find(name, (size_t)(past - name), &type))
			return false;
		name = next;
		past = name_end(name, end);
		next = blanks_skip(past, end);
	}
	if (past == name || past - name > (ptrdiff_t)PROTOTYPE_NAME_BYTES_MAX ||
		(next < end && *next != ','))
		return false;
	*ret_word = (struct prototype_word){
		.name = name, .name_bytes = (uint8_t)(past - name), .type = type};
	*text = next;
	return true;
}

bool prototype_read(const char *text, const char *end, struct prototype *ret_prototype)
{
	struct prototype *p = ret_prototype;
	uint32_t index = 0;
	p->count = 0;
	for (const char *s = text;; s++, index++) {
		struct prototype_word word;
		if (index == PROTOTYPE_ARGUMENTS_MAX || !word_read(&s, end, &word))
			return false;
		word.index = (uint8_t)index;
		if (word.name_bytes != 1 || *word.name != '_') {
			if (p->count == PROTOTYPE_WORDS_MAX)
				return false;
			p->words[p->count++] = word;
		}
		if (s == end)
			return true;
	}
}
