/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - conversion of texts of programs for readers that accept only UTF-8.
 *
 * Bytes that are not UTF-8 (surrogates and overlong forms included) become \xNN; all others stay.
 * Nothing allocates; any thread.
 */
#ifndef COMMON_UTF8_H
#define COMMON_UTF8_H

#include <stddef.h>

/* Return the length in bytes of the converted text, without the NUL: `bytes` if it is UTF-8
 * already. */
size_t utf8_clean_bytes(const char *text, size_t bytes);

/* Write the converted text, with a NUL. */
void utf8_clean(const char *text, size_t bytes, char *out);

#endif
