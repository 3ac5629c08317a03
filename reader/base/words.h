/* SPDX-License-Identifier: Apache-2.0 */
/* words.h - names in texts: SQL, lists of columns. No state. */
#ifndef READER_BASE_WORDS_H
#define READER_BASE_WORDS_H

#include <stdbool.h>

/* Return whether the text has the word: not within a longer one of letters, digits and _. */
bool words_have(const char *text, const char *word);

#endif
