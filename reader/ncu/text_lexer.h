/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_lexer.h - lexer for protobuf's text format.
 *
 * A token points into the text, which the caller keeps. Invalid input returns TEXT_BROKEN, with the
 * cause in the lexer; nothing after it is read. No allocation; any thread.
 *
 * Language: https://protobuf.dev/reference/protobuf/textformat-spec.
 */
#ifndef READER_NCU_TEXT_LEXER_H
#define READER_NCU_TEXT_LEXER_H

#include <stddef.h>
#include <stdint.h>

enum text_token_kind {
	TEXT_END,
	TEXT_WORD,
	TEXT_NUMBER, /* without its sign, as written */
	TEXT_STRING, /* with its quotes; escapes are not resolved */
	TEXT_MARK,   /* one character */
	TEXT_BROKEN
};

struct text_token {
	enum text_token_kind kind;
	uint32_t line, column; /* position of its first byte, from 1 */
	const char *text;
	size_t bytes;
};

struct text_lexer {
	const char *at, *end;
	const char *line_begin;
	uint32_t line;
	const char *cause; /* cause of a broken token */
};

void text_lexer_init(struct text_lexer *l, const char *text, size_t bytes);

/* Return the next token; after the last token, TEXT_END on every call. */
void text_lex(struct text_lexer *l, struct text_token *ret_token);

#endif
