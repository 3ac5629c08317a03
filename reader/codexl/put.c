/* SPDX-License-Identifier: Apache-2.0 */
/* put.c - output of words in the syntax of CodeXL files. */
#include "reader/codexl/put.h"

#include <stdbool.h>
#include <string.h>

/* Return the replacement of a character; NULL = none. */
static const char *substitute(char c, enum codexl_put how)
{
	const bool encodes = how == CODEXL_PUT_SYMBOL || how == CODEXL_PUT_NAME;
	if (c == ' ' && how == CODEXL_PUT_WORD)
		return "_";
	if (c == ' ' && encodes)
		return "&nbsp;";
	if (c == ',' && how != CODEXL_PUT_LINE && how != CODEXL_PUT_NAME)
		return how == CODEXL_PUT_SYMBOL ? "&comma;" : how == CODEXL_PUT_CELL ? ";" : "_";
	return (unsigned char)c < 0x20 || c == 0x7f ? "_" : NULL;
}

size_t codexl_put_text(FILE *out, const char *text, enum codexl_put how, size_t most)
{
	size_t written = 0;
	for (size_t i = 0; text && text[i] && i < most; i++) {
		const char *other = substitute(text[i], how);
		if (other)
			fputs(other, out);
		else
			fputc(text[i], out);
		written += other ? strlen(other) : 1;
	}
	return written;
}

void codexl_put_padding(FILE *out, size_t written, size_t width)
{
	fprintf(out, "%*s", written < width ? (int)(width - written) : 1, "");
}

void codexl_put_column(FILE *out, const char *text, enum codexl_put how, size_t width)
{
	codexl_put_padding(out, codexl_put_text(out, text, how, SIZE_MAX), width);
}
