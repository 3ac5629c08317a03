/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_fold.c - rows of a table that are wider than the terminal.
 */
#include "reader/cli/base/table_fold.h"

#include <string.h>

#define NARROWEST 16u  /* minimum width of a text column */
#define BREAK_SHARE 3u /* a line breaks at a blank only if it then fills a third of its width */

static bool begins_character(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

static size_t characters(const char *text, size_t bytes)
{
	size_t count = 0;
	for (size_t i = 0; i < bytes; i++)
		count += begins_character(text[i]);
	return count;
}

static size_t row_width(size_t count, const size_t *widths)
{
	size_t width = 1;
	for (size_t i = 0; i < count; i++)
		width += widths[i] + (i ? 2 : 0);
	return width;
}

/* Return the minimum width that a text column may be reduced to. */
static size_t least_of(const struct table_column *c)
{
	size_t title = strlen(c->title);
	return title > NARROWEST ? title : NARROWEST;
}

bool table_narrow(const struct table_column *columns, size_t count, size_t *widths, size_t room)
{
	size_t width = row_width(count, widths), least = width;
	for (size_t i = 0; i < count; i++)
		if (columns[i].is_text && widths[i] > least_of(&columns[i]))
			least -= widths[i] - least_of(&columns[i]);
	if (least > room)
		return false;
	for (; width > room; width--) {
		size_t widest = count;
		for (size_t i = 0; i < count; i++)
			if (columns[i].is_text && widths[i] > least_of(&columns[i]) &&
				(widest == count || widths[i] > widths[widest]))
				widest = i;
		widths[widest]--;
	}
	return true;
}

/* Return the bytes of the next line of at most `room` characters; *ret_next: the start of the line
 * after it. */
static size_t line_bytes(const char *text, size_t room, const char **ret_next)
{
	size_t bytes = 0, blank = 0;
	for (size_t n = 0; text[bytes] && (n < room || !begins_character(text[bytes])); bytes++) {
		n += begins_character(text[bytes]);
		if (text[bytes] == ' ' && BREAK_SHARE * n >= room)
			blank = bytes;
	}
	if (text[bytes] && text[bytes] != ' ' && blank)
		bytes = blank;
	*ret_next = text + bytes + (text[bytes] == ' ');
	return bytes;
}

static void spaces(FILE *out, size_t count)
{
	fprintf(out, "%*s", (int)count, "");
}

#define COLUMNS_FOLDED 64u

void table_row_folded(FILE *out, const struct table_column *columns, size_t count,
	char *const *texts, const size_t *widths)
{
	const char *rest[COLUMNS_FOLDED];
	bool more = true;
	count = count < COLUMNS_FOLDED ? count : COLUMNS_FOLDED;
	for (size_t i = 0; i < count; i++)
		rest[i] = texts[i];
	while (more) {
		size_t owed = 1; /* blanks to print before the next non-empty cell */
		more = false;
		for (size_t i = 0; i < count; i++) {
			const char *text = rest[i];
			size_t bytes = line_bytes(text, widths[i], &rest[i]),
			       pad = widths[i] - characters(text, bytes);
			spaces(out, bytes ? owed + (columns[i].is_text ? 0 : pad) : 0);
			fwrite(text, 1, bytes, out);
			owed = bytes ? 2 + (columns[i].is_text ? pad : 0) : owed + widths[i] + 2;
			more |= *rest[i] != 0;
		}
		fputc('\n', out);
	}
}

void table_row_listed(FILE *out, size_t count, char *const *texts, size_t room,
	const char *(*title)(void *user, size_t column), void *user)
{
	size_t titles = 0;
	for (size_t i = 0; i < count; i++) {
		size_t width = strlen(title(user, i));
		titles = width > titles ? width : titles;
	}
	room = room > titles + 3 + NARROWEST ? room - titles - 3 : NARROWEST;
	for (size_t i = 0; i < count; i++) {
		const char *rest = texts[i];
		fprintf(out, " %-*s  ", (int)titles, title(user, i));
		for (bool first = true; first || *rest; first = false) {
			const char *text = rest;
			size_t bytes = line_bytes(text, room, &rest);
			spaces(out, first ? 0 : titles + 3);
			fwrite(text, 1, bytes, out);
			fputc('\n', out);
		}
	}
}
