/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folded.c - rows of a table whose long texts continue on further lines.
 */
#include "reader/cli/export/folded.h"

#include <stdbool.h>
#include <string.h>

/* Return the bytes of a text that fit into a line: whole words, or a part of a word that is longer
 * than the line. */
static size_t part_of(const char *text, size_t width)
{
	const size_t bytes = strlen(text);
	if (bytes <= width)
		return bytes;
	for (size_t at = width; at > 0; at--)
		if (text[at] == ' ')
			return at;
	return width;
}

void folded_row_print(FILE *out, const char **texts, const size_t *widths, unsigned columns)
{
	bool more = true;
	while (more) {
		size_t owed = 0; /* blanks to print before the next text */
		more = false;
		for (unsigned i = 0; i < columns; i++) {
			size_t part = part_of(texts[i], widths[i]);
			if (part)
				fprintf(out, "%*s%.*s", (int)owed, "", (int)part, texts[i]);
			owed = (part ? 0 : owed) + widths[i] - part + FOLDED_GAP;
			texts[i] += part;
			texts[i] += strspn(texts[i], " ");
			more |= *texts[i] != 0;
		}
		fputc('\n', out);
	}
}

void folded_rule_print(FILE *out, const size_t *widths, unsigned columns)
{
	for (unsigned i = 0; i < columns; i++) {
		for (size_t n = 0; n < widths[i]; n++)
			fputc('-', out);
		fprintf(out, "%*s", i + 1 < columns ? (int)FOLDED_GAP : 0, "");
	}
	fputc('\n', out);
}
