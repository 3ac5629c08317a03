/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redact.h - replacement of values with secret names, in arguments and in texts, before they are
 * in reports and pages.
 *
 * The secret words are those of redact.c. A name is split into words at every character except
 * letters and digits; a word may end with a secret one: --hf-token, API_KEY and PGPASSWORD are
 * secret, --max-tokens and --tokenizer are not.
 * Any thread.
 */
#ifndef COMMON_REDACT_H
#define COMMON_REDACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Replace secrets of one argument: the value of NAME=VALUE, or all of it if it follows --NAME.
 * Called for the arguments of a program in their order, without the first one, which is the
 * program's own name. `text` needs no NUL at its end. *hide: false before the first call. Return
 * what to show instead, of *bytes bytes: `text`, with some bytes overwritten, or a static text. */
char *redact_argument(bool *hide, char *text, size_t *bytes);

/* A search for secrets in a text that arrives in pieces. All zero = at its beginning. */
struct redact_search {
	char name[64];  /* the word that may be the name of a value */
	uint8_t length; /* of it; more than fits = it is no secret's name */
	uint8_t state;  /* redact.c */
	char until;     /* a value ends before this character, and with the line; ' ' = any blank
			   or quote */
};

/* Replace secrets of a text by as many stars: the word after NAME= or --NAME, the rest of the line
 * after NAME:, what is in quotes in these places. Names may be quoted. */
void redact_text(struct redact_search *search, char *text, size_t bytes);

#endif
