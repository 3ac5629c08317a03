/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lexer.h - a line of an NVTXT file as tokens.
 *
 * A token points into the line, which stays the caller's. A token that is not one of the language
 * comes as NVTXT_BROKEN, with the cause in the lexer; nothing behind it is looked at. A comment
 * ends the line and is kept aside. No allocation; any thread.
 */
#ifndef READER_NVTXT_LEXER_H
#define READER_NVTXT_LEXER_H

#include <stddef.h>
#include <stdint.h>

enum nvtxt_token_kind {
	NVTXT_LINE_END,
	NVTXT_WORD,   /* letters, digits, _ and -; does not begin with a digit or - */
	NVTXT_STRING, /* without its quotes; backslashes stay as they are */
	NVTXT_INTEGER,
	NVTXT_VARIABLE, /* $Name; the text is Name */
	NVTXT_COMMAND,  /* @Name; the text is Name */
	NVTXT_COMMA,
	NVTXT_EQUALS,
	NVTXT_BROKEN
};

struct nvtxt_token {
	enum nvtxt_token_kind kind;
	uint32_t column; /* of its first byte, from 1 */
	const char *text;
	size_t bytes;
	int64_t integer;
};

struct nvtxt_lexer {
	const char *begin, *at, *end;
	const char *line_end;
	const char *comment; /* from its # to line_end; NULL = none met so far */
	const char *cause;   /* of a broken token */
};

/* A line without its end. */
void nvtxt_lexer_init(struct nvtxt_lexer *l, const char *line, size_t bytes);

/* The next token. Behind the last one: NVTXT_LINE_END, again and again. */
void nvtxt_lex(struct nvtxt_lexer *l, struct nvtxt_token *ret_token);

#endif
