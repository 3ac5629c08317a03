/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arguments.h - the words that were kept of a call of a library function, with their names.
 */
#ifndef READER_REPORT_ARGUMENTS_H
#define READER_REPORT_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "reader/report/strings.h"

/*
 * Print the words of a row with their names: "(m=4, A=0x7f)", or the JSON object
 * {"m":4,"A":"0x7f"}. `columns` are the values of the row from the column of the prototype on: its
 * text is `prototype`, then the number of words and the words follow. A prototype that cannot be
 * read has no words.
 */
void arguments_print(FILE *out, struct string_ref prototype, const int64_t *columns, bool is_json);

#endif
