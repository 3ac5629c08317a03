/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lexer.h - lexer for a line of an NVTXT file.
 *
 * Tokens point into the line, which the caller keeps. An invalid token is returned as NVTXT_BROKEN,
 * with the cause in the lexer; the rest of the line is not examined. A comment ends the line and is
 * kept in the lexer. Allocates nothing; any thread, each with its own lexer.
 */
#ifndef READER_NVTXT_LEXER_H
#define READER_NVTXT_LEXER_H

#include <stddef.h>
#include <stdint.h>

enum nvtxt_token_kind {
	NVTXT_LINE_END,
	NVTXT_WORD,   /* letters, digits, _ and -; does not begin with a digit or - */
	NVTXT_STRING, /* text without its quotes; backslashes are kept */
	NVTXT_INTEGER,
	NVTXT_VARIABLE, /* $Name; the text is Name */
	NVTXT_COMMAND,  /* @Name; the text is Name */
	NVTXT_COMMA,
	NVTXT_EQUALS,
	NVTXT_BROKEN
};

struct nvtxt_token {
	enum nvtxt_token_kind kind;
	uint32_t column; /* column of its first byte, from 1 */
	const char *text;
	size_t bytes;
	int64_t integer;
};

struct nvtxt_lexer {
	const char *begin, *at, *end;
	const char *line_end;
	const char *comment; /* comment from its '#' to line_end; NULL = none so far */
	const char *cause;   /* reason why a token is broken */
};

/* Begin a line, passed without its line end. */
void nvtxt_lexer_init(struct nvtxt_lexer *l, const char *line, size_t bytes);

/* Return the next token. After the last token, return NVTXT_LINE_END at every call. */
void nvtxt_lex(struct nvtxt_lexer *l, struct nvtxt_token *ret_token);

#endif
