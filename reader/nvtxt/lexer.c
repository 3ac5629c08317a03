/* SPDX-License-Identifier: Apache-2.0 */
/* lexer.c - tokens of a line of an NVTXT file. */
#include "reader/nvtxt/lexer.h"

#include <stdbool.h>
#include <string.h>

/* Return true for an ASCII digit, in any locale. */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool begins_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_of_word(char c)
{
	return begins_word(c) || is_digit(c) || c == '-';
}

static int hex_digit(char c)
{
	return is_digit(c)             ? c - '0'
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
		: c >= 'A' && c <= 'F' ? c - 'A' + 10
				       : -1;
}

void nvtxt_lexer_init(struct nvtxt_lexer *l, const char *line, size_t bytes)
{
	*l = (struct nvtxt_lexer){line, line, line + bytes, line + bytes, NULL, NULL};
}

static void broken(struct nvtxt_lexer *l, struct nvtxt_token *t, const char *cause)
{
	t->kind = NVTXT_BROKEN;
	l->cause = cause;
	l->at = l->end;
}

static void lex_word(struct nvtxt_lexer *l, struct nvtxt_token *t, enum nvtxt_token_kind kind)
{
	t->text = l->at;
	while (l->at < l->end && is_of_word(*l->at))
		l->at++;
	t->bytes = (size_t)(l->at - t->text);
	t->kind = kind;
}

/* Read $Name or @Name; no blank may follow the mark. */
static void lex_marked(struct nvtxt_lexer *l, struct nvtxt_token *t, enum nvtxt_token_kind kind)
{
	l->at++;
	if (l->at < l->end && begins_word(*l->at))
		lex_word(l, t, kind);
	else
		broken(l, t,
			kind == NVTXT_VARIABLE ? "expected a name after $"
					       : "expected a name after @");
}

/* Read a string. It ends at the same quote, unless a backslash precedes it. */
static void lex_string(struct nvtxt_lexer *l, struct nvtxt_token *t)
{
	char quote = *l->at++;
	t->text = l->at;
	while (l->at < l->end && *l->at && (*l->at != quote || l->at[-1] == '\\'))
		l->at++;
	t->bytes = (size_t)(l->at - t->text);
	if (l->at < l->end && !*l->at)
		broken(l, t, "zero byte in a string");
	else if (l->at == l->end)
		broken(l, t, "unterminated string");
	else {
		l->at++;
		t->kind = NVTXT_STRING;
	}
}

static void lex_integer(struct nvtxt_lexer *l, struct nvtxt_token *t)
{
	bool negative = *l->at == '-', any = false, large = false;
	uint64_t value = 0, limit = (uint64_t)INT64_MAX + negative;
	l->at += negative;
	int base = 10, digit;
	if (!negative && l->end - l->at > 1 && l->at[0] == '0' && (l->at[1] | 32) == 'x') {
		base = 16;
		l->at += 2;
	}
	for (; l->at < l->end && (digit = hex_digit(*l->at)) >= 0 && digit < base; l->at++) {
		any = true;
		large |= value > (limit - (uint64_t)digit) / (uint64_t)base;
		value = value * (uint64_t)base + (uint64_t)digit;
	}
	if (!any || (l->at < l->end && (is_of_word(*l->at) || *l->at == '.')))
		broken(l, t, "not a number");
	else if (large)
		broken(l, t, "number exceeds 63 bits");
	else {
		t->kind = NVTXT_INTEGER;
		t->integer = (int64_t)(negative ? 0 - value : value);
	}
}

static void lex_mark(struct nvtxt_lexer *l, struct nvtxt_token *t)
{
	char c = *l->at;
	if (c == ',' || c == '=') {
		t->kind = c == ',' ? NVTXT_COMMA : NVTXT_EQUALS;
		l->at++;
	} else {
		broken(l, t, c ? "unexpected character outside a string" : "zero byte");
	}
}

void nvtxt_lex(struct nvtxt_lexer *l, struct nvtxt_token *ret_token)
{
	while (l->at < l->end && (*l->at == ' ' || *l->at == '\t'))
		l->at++;
	if (l->at < l->end && *l->at == '#') {
		l->comment = l->at;
		l->end = l->at;
	}
	*ret_token =
		(struct nvtxt_token){NVTXT_LINE_END, (uint32_t)(l->at - l->begin) + 1, l->at, 0, 0};
	if (l->at == l->end)
		return;
	char c = *l->at;
	if (begins_word(c))
		lex_word(l, ret_token, NVTXT_WORD);
	else if (c == '$')
		lex_marked(l, ret_token, NVTXT_VARIABLE);
	else if (c == '@')
		lex_marked(l, ret_token, NVTXT_COMMAND);
	else if (c == '"' || c == '\'')
		lex_string(l, ret_token);
	else if (is_digit(c) || c == '-')
		lex_integer(l, ret_token);
	else
		lex_mark(l, ret_token);
}
