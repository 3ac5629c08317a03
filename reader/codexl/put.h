/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put.h - words of files of CodeXL, as its own tools write them. Functions return the bytes
 * written; errors stay with the stream. One thread.
 */
#ifndef READER_CODEXL_PUT_H
#define READER_CODEXL_PUT_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What a format has no place for becomes something else, control characters '_'. */
enum codexl_put {
	CODEXL_PUT_LINE,   /* nothing else */
	CODEXL_PUT_SYMBOL, /* blanks &nbsp;, commas &comma; */
	CODEXL_PUT_NAME,   /* blanks &nbsp; */
	CODEXL_PUT_WORD,   /* blanks and commas '_' */
	CODEXL_PUT_CELL    /* commas ';' */
};

/* Not more than `most` bytes of the text; NULL is "". */
size_t codexl_put_text(FILE *out, const char *text, enum codexl_put how, size_t most);

/* Blanks up to the width of a column, at least one. */
void codexl_put_padding(FILE *out, size_t written, size_t width);

/* A word and the blanks up to its column's width. */
void codexl_put_column(FILE *out, const char *text, enum codexl_put how, size_t width);

/* Likewise. */
static inline void codexl_put_number(FILE *out, int64_t number, size_t width)
{
	const int written = fprintf(out, "%" PRId64, number);
	codexl_put_padding(out, written > 0 ? (size_t)written : 0, width);
}

static inline void codexl_put_handle(FILE *out, uint64_t handle, int width)
{
	fprintf(out, "0x%-*" PRIX64, width - 2, handle);
}

#endif
