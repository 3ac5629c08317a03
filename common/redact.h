/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redact.h - replacement of arguments with secret names, before they are in reports and pages.
 *
 * The secret words are those of redact.c. A name is split into words at every character except
 * letters and digits, so --hf-token and API_KEY are secret, --max-tokens and --tokenizer are not.
 * Any thread.
 */
#ifndef COMMON_REDACT_H
#define COMMON_REDACT_H

#include <stdbool.h>
#include <stddef.h>

/* Replace secrets of one argument: the value of NAME=VALUE, or all of it if it follows --NAME.
 * Called for the arguments of a program in their order, without the first one, which is the
 * program's own name. `text` needs no NUL at its end. *hide: false before the first call. Return
 * what to show instead, of *bytes bytes: `text`, with some bytes overwritten, or a static text. */
char *redact_argument(bool *hide, char *text, size_t *bytes);

#endif
