/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words.h - splits lines of files of CodeXL into words and numbers. Used only inside
 * reader/codexl/. One thread.
 */
#ifndef READER_CODEXL_WORDS_H
#define READER_CODEXL_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/codexl/file.h"

/* The unread rest of a line; words are separated by blanks. */
struct codexl_words {
	const char *at, *end;
};

struct codexl_word {
	const char *at;
	size_t bytes; /* 0 = no more words */
};

/* Read the next word. */
struct codexl_word codexl_word(struct codexl_words *w);

/* Return the rest of the line without the blanks around it. */
struct codexl_word codexl_rest(const struct codexl_words *w);

/* Store a word in the pool; codexl_decoded() decodes &nbsp; and, with `commas`, &comma;. Return
 * NULL when out of memory. */
const char *codexl_text(struct codexl_file *f, struct codexl_word word);
const char *codexl_decoded(struct codexl_file *f, struct codexl_word word, bool commas);

/* Parse a decimal number up to `most`, or a handle: 0x and hex digits, or NULL. Returns false if
 * the word is neither. */
bool codexl_number(struct codexl_word word, uint64_t most, uint64_t *ret_number);
bool codexl_handle(struct codexl_word word, uint64_t *ret_handle);

/* Compute work groups and their sizes from two `{x,y,z}` texts; all 0 if the texts are not
 * numbers. */
void codexl_sizes(struct codexl_word global, struct codexl_word group, struct codexl_sizes *ret);

#endif
