/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv.h - printer of cells of comma-separated values.
 *
 * No state. One thread.
 */
#ifndef READER_CLI_BASE_CSV_H
#define READER_CLI_BASE_CSV_H

#include <stdbool.h>
#include <stdio.h>

/* Print a cell in quotes, and a comma before it unless it is the first of its row. */
void csv_cell(FILE *out, bool first, const char *text);

/* Print a comma and a cell of at most 127 bytes, formatted as by printf. */
__attribute__((format(printf, 2, 3))) void csv_format(FILE *out, const char *format, ...);

#endif
