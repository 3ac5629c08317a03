/* SPDX-License-Identifier: Apache-2.0 */
/* text_lexer.c - lexer for protobuf's text format. */
#include "reader/ncu/text_lexer.h"

#include <stdbool.h>

/* Check for an ASCII digit, whatever the locale. */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool begins_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

void text_lexer_init(struct text_lexer *l, const char *text, size_t bytes)
{
	*l = (struct text_lexer){text, text + bytes, text, 1, NULL};
}

static void skip_blanks(struct text_lexer *l)
{
	bool is_comment = false;
	for (; l->at < l->end; l->at++) {
		if (*l->at == '\n') {
			is_comment = false;
			l->line++;
			l->line_begin = l->at + 1;
		} else if (*l->at == '#') {
			is_comment = true;
		} else if (!is_comment && *l->at != ' ' && (*l->at < '\t' || *l->at > '\r')) {
			return;
		}
	}
}

static void broken(struct text_lexer *l, struct text_token *t, const char *cause)
{
	t->kind = TEXT_BROKEN;
	l->cause = cause;
	l->at = l->end;
}

/* Read a text up to the same quote, on the same line. */
static void lex_string(struct text_lexer *l, struct text_token *t)
{
	const char quote = *l->at++;
	t->kind = TEXT_STRING;
	while (l->at < l->end && *l->at != quote && *l->at != '\n' && *l->at)
		l->at += *l->at == '\\' && l->end - l->at > 1 && l->at[1] != '\n' ? 2 : 1;
	if (l->at == l->end || *l->at != quote)
		broken(l, t, "unterminated string");
	else
		l->at++;
}

/* Read digits and the characters that numbers may contain: 0x1f, 1.5e-3, 2f. The parser checks
 * the number. */
static void lex_number(struct text_lexer *l, struct text_token *t)
{
	t->kind = TEXT_NUMBER;
	while (l->at < l->end &&
		(is_digit(*l->at) || begins_word(*l->at) || *l->at == '.' ||
			((*l->at == '-' || *l->at == '+') && (l->at[-1] | 32) == 'e')))
		l->at++;
}

static void lex_mark(struct text_lexer *l, struct text_token *t)
{
	for (const char *mark = "{}<>[]:,;-"; *mark; mark++)
		if (*l->at == *mark) {
			t->kind = TEXT_MARK;
			l->at++;
			return;
		}
	broken(l, t, *l->at ? "unexpected character outside a string" : "zero byte");
}

void text_lex(struct text_lexer *l, struct text_token *t)
{
	skip_blanks(l);
	*t = (struct text_token){
		TEXT_END, l->line, (uint32_t)(l->at - l->line_begin) + 1, l->at, 0};
	if (l->at == l->end)
		return;
	const char next = l->end - l->at > 1 ? l->at[1] : 0;
	if (begins_word(*l->at)) {
		t->kind = TEXT_WORD;
		while (l->at < l->end && (begins_word(*l->at) || is_digit(*l->at)))
			l->at++;
	} else if (is_digit(*l->at) || (*l->at == '.' && is_digit(next))) {
		lex_number(l, t);
	} else if (*l->at == '"' || *l->at == '\'') {
		lex_string(l, t);
	} else {
		lex_mark(l, t);
	}
	t->bytes = (size_t)(l->at - t->text);
}
