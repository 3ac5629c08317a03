/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redact.c - recognition of secrets by the words of their names, and replacement of their values in
 * arguments.
 */
#include "common/redact.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/text.h"

#define REDACTED "REDACTED"

/* One word, or two consecutive words. */
static const struct {
	const char *word, *next;
} secrets[] = {{"password", NULL}, {"passwd", NULL}, {"passphrase", NULL}, {"secret", NULL},
	{"secrets", NULL}, {"token", NULL}, {"credential", NULL}, {"credentials", NULL},
	{"authorization", NULL}, {"apikey", NULL}, {"api", "key"}, {"access", "key"},
	{"private", "key"}};

struct word {
	const char *text;
	size_t length;
};

static bool word_is(const struct word *w, const char *text)
{
	return strlen(text) == w->length && !strncasecmp(text, w->text, w->length);
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
					    : word_is(&w, secrets[i].word))
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
