/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put.h - output of words in the syntax of CodeXL files, as written by CodeXL itself. Functions
 * that return a size return the bytes written; errors remain set in the stream. One thread per
 * stream.
 */
#ifndef READER_CODEXL_PUT_H
#define READER_CODEXL_PUT_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How to replace characters that a format cannot represent. Control characters always become
 * '_'. */
enum codexl_put {
	CODEXL_PUT_LINE,   /* no other replacement */
	CODEXL_PUT_SYMBOL, /* blank -> &nbsp;, comma -> &comma; */
	CODEXL_PUT_NAME,   /* blank -> &nbsp; */
	CODEXL_PUT_WORD,   /* blank, comma -> '_' */
	CODEXL_PUT_CELL    /* comma -> ';' */
};

/* Write at most `most` bytes of the text; NULL is written as "". */
size_t codexl_put_text(FILE *out, const char *text, enum codexl_put how, size_t most);

/* Write blanks up to the width of the column, at least one. */
void codexl_put_padding(FILE *out, size_t written, size_t width);

/* Write a word, and blanks up to the width of its column. */
void codexl_put_column(FILE *out, const char *text, enum codexl_put how, size_t width);

/* Write a decimal number, and blanks up to the width of its column. */
static inline void codexl_put_number(FILE *out, int64_t number, size_t width)
{
	const int written = fprintf(out, "%" PRId64, number);
	codexl_put_padding(out, written > 0 ? (size_t)written : 0, width);
}

/* Write a handle, and blanks up to the width of its column. */
static inline void codexl_put_handle(FILE *out, uint64_t handle, int width)
{
	fprintf(out, "0x%-*" PRIX64, width - 2, handle);
}

#endif
