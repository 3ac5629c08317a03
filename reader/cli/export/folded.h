/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folded.h - rows of a table whose long texts continue on further lines.
 */
#ifndef READER_CLI_EXPORT_FOLDED_H
#define READER_CLI_EXPORT_FOLDED_H

#include <stddef.h>
#include <stdio.h>

#define FOLDED_GAP 2u /* blanks between columns */

/* Print a row: texts[i] is folded between words to widths[i] columns, which are at least 1. The
 * pointers in `texts` are at the ends of the texts afterwards. One thread. */
void folded_row_print(FILE *out, const char **texts, const size_t *widths, unsigned columns);

/* Print the line below the titles: dashes of these widths. One thread. */
void folded_rule_print(FILE *out, const size_t *widths, unsigned columns);

#endif
