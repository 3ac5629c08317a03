/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_words.h - SQL functions for the words that were kept of calls of library functions. Called
 * by connection.c alone.
 *
 *   call_word(arguments, name, words, word1, ..., word8)
 *                          the value of the argument `name`; NULL if the call has no such word.
 *                          `arguments` is the text of the prototype (common/schema/prototype.h)
 *   call_words(arguments, words, word1, ..., word8)
 *                          "id=0x5, m=4": all words but those of type ptr, which differ from call
 *                          to call; an empty text if there is none
 *   call_values(arguments, words, word1, ..., word8)
 *                          "0x5;4": the values of all words but `command`, as CodeXL writes
 *                          arguments of OpenCL; an empty text if there is none
 */
#ifndef READER_SQL_CALL_WORDS_H
#define READER_SQL_CALL_WORDS_H

#include "reader/sql/connection.h"

/* Register the functions. Returns 0 or a negative errno. */
int call_words_add(struct sql *s);

#endif
