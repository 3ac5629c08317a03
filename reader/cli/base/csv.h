/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv.h - cells of comma-separated values.
 *
 * No state. One thread.
 */
#ifndef READER_CLI_BASE_CSV_H
#define READER_CLI_BASE_CSV_H

#include <stdbool.h>
#include <stdio.h>

/* Print a cell in quotes, with a comma in front of it unless it is the first of its row. */
void csv_cell(FILE *out, bool first, const char *text);

/* Print a cell that is not the first, of at most 127 bytes, in the format of printf. */
__attribute__((format(printf, 2, 3))) void csv_format(FILE *out, const char *format, ...);

#endif
