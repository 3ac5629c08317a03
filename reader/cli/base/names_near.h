/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names_near.h - suggestions of known names for an unknown one. Thread-safe.
 */
#ifndef READER_CLI_BASE_NAMES_NEAR_H
#define READER_CLI_BASE_NAMES_NEAR_H

#include <stddef.h>

/* Find the known names nearest to `word`, up to three, as "a, b or c". name_at() returns the known
 * names by index, and NULL after the last one. A name is near if at most a third of its letters
 * differ or if it contains the whole word. The caller frees the text. Returns NULL if no name is
 * near. */
char *names_near(const char *word, size_t bytes, const char *(*name_at)(size_t n));

#endif
