/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redact.c - recognition of secrets by the words of their names, and replacement of their values in
 * arguments and texts.
 */
#include "common/redact.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/text.h"

#define REDACTED "REDACTED"

/* The end of a word (PGPASSWORD, githubtoken), or two consecutive words. */
static const struct {
	const char *word, *next;
} secrets[] = {{"password", NULL}, {"passwd", NULL}, {"passphrase", NULL}, {"secret", NULL},
	{"secrets", NULL}, {"token", NULL}, {"credential", NULL}, {"credentials", NULL},
	{"authorization", NULL}, {"apikey", NULL}, {"api", "key"}, {"access", "key"},
	{"private", "key"}, {"mysql", "pwd"}};

struct word {
	const char *text;
	size_t length;
};

static bool word_is(const struct word *w, const char *text)
{
	return strlen(text) == w->length && !strncasecmp(text, w->text, w->length);
}

static bool word_ends(const struct word *w, const char *text)
{
	const size_t length = strlen(text);
	return w->length >= length && !strncasecmp(text, w->text + w->length - length, length);
}

static bool is_secret(const char *name, size_t length)
{
	struct word before = {name, 0};
	for (size_t at = 0; at < length;) {
		struct word w = {name + at, 0};
		while (at < length && isalnum((unsigned char)name[at])) {
			at++;
			w.length++;
		}
		for (size_t i = 0; w.length && i < sizeof(secrets) / sizeof(secrets[0]); i++)
			if (secrets[i].next ? word_is(&before, secrets[i].word) &&
						word_is(&w, secrets[i].next)
					    : word_ends(&w, secrets[i].word))
				return true;
		before = w.length ? w : before;
		at += !w.length;
	}
	return false;
}

char *redact_argument(bool *hide, char *text, size_t *bytes)
{
	static char redacted[] = REDACTED;
	const size_t most = sizeof(redacted) - 1;
	char *equals = memchr(text, '=', *bytes);
	size_t name = equals ? (size_t)(equals - text) : *bytes;
	bool option = *bytes && *text == '-';
	if (*hide && !option) {
		*hide = false;
		*bytes = most;
		return redacted;
	}
	bool secret = (option || equals) && is_secret(text, name);
	*hide = secret && !equals;
	if (!secret || !equals)
		return text;
	size_t value = *bytes - name - 1, kept = value < most ? value : most;
	bytes_copy(equals + 1, value < most ? "********" : redacted, kept);
	*bytes = name + 1 + kept;
	return text;
}

/* ---- texts ---- */

enum state {
	IN_NAME = 0, /* in a word, or before one */
	AFTER_QUOTE, /* a quote has ended the word */
	BEFORE_VALUE,
	IN_VALUE
};

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

static bool search_is_secret(const struct redact_search *s)
{
	return s->length <= sizeof(s->name) && is_secret(s->name, s->length);
}

/* Begin to look for a name again. */
static void search_reset(struct redact_search *s)
{
	s->state = IN_NAME;
	s->length = 0;
}

/* Process a character outside of a value. */
static void name_add(struct redact_search *s, char c)
{
	const bool separates = c == '=' || c == ':';
	if (is_of_name(c)) {
		if (s->state == AFTER_QUOTE)
			search_reset(s);
		if (s->length < sizeof(s->name))
			s->name[s->length] = c;
		s->length += s->length <= sizeof(s->name);
	} else if ((separates || (c == ' ' && s->length && *s->name == '-')) &&
		search_is_secret(s)) {
		s->until = c == ':' ? '\n' : ' ';
		s->state = BEFORE_VALUE;
		s->length = 0;
	} else if (is_quote(c) && s->length && s->state == IN_NAME) {
		s->state = AFTER_QUOTE;
	} else {
		search_reset(s);
	}
}

/* Process a character of a value, or before it. Return what to show instead. */
static char value_add(struct redact_search *s, char c)
{
	const bool line_ends = c == '\n' || c == '\r',
		   blank = isspace((unsigned char)c) || is_quote(c);
	if (s->state == BEFORE_VALUE && blank && !line_ends) {
		s->until = is_quote(c) ? c : s->until;
		s->state = is_quote(c) ? IN_VALUE : BEFORE_VALUE;
		return c;
	}
	s->state = IN_VALUE;
	if (!line_ends && !(s->until == ' ' ? blank : c == s->until))
		return '*';
	search_reset(s);
	return c;
}

void redact_text(struct redact_search *search, char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (search->state >= BEFORE_VALUE)
			text[i] = value_add(search, text[i]);
		else
			name_add(search, text[i]);
}
