/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_fold.h - rows of a table that are wider than the terminal.
 *
 * Texts are folded within their columns; if a row does not fit even then, it is printed as a list
 * of titles and values. Allocates nothing. One thread.
 */
#ifndef READER_CLI_BASE_TABLE_FOLD_H
#define READER_CLI_BASE_TABLE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "reader/cli/base/table.h"

/* Reduce the widths of text columns until a row fits into `room` columns. Returns false and
 * changes nothing if that is impossible. */
bool table_narrow(const struct table_column *columns, size_t count, size_t *widths, size_t room);

/* Print a row with texts folded, in as many lines as its longest text needs. */
void table_row_folded(FILE *out, const struct table_column *columns, size_t count,
	char *const *texts, const size_t *widths);

/* Print a row as a list of titles and values, folded at `room` columns. title() returns the title
 * of a column. */
void table_row_listed(FILE *out, size_t count, char *const *texts, size_t room,
	const char *(*title)(void *user, size_t column), void *user);

#endif
