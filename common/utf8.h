/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - texts of programs made fit for those who read UTF-8 and nothing else.
 *
 * Bytes that are not UTF-8 (surrogates and longer forms than need be included) become \xNN; all
 * others stay. Nothing allocates; any thread.
 */
#ifndef COMMON_UTF8_H
#define COMMON_UTF8_H

#include <stddef.h>

/* Bytes that the text has then, without the NUL behind it: `bytes` where it is UTF-8 already. */
size_t utf8_clean_bytes(const char *text, size_t bytes);

/* Writes it, and a NUL behind it. */
void utf8_clean(const char *text, size_t bytes, char *out);

#endif
