/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_fold.h - rows of a table that are wider than the terminal: texts are folded within their
 * columns, or, where even that has no room, each row is a list of titles and values. One thread;
 * allocates nothing.
 */
#ifndef READER_CLI_BASE_TABLE_FOLD_H
#define READER_CLI_BASE_TABLE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "reader/cli/base/table.h"

/* Makes columns of texts narrower until a row has room. false: they cannot be; nothing is changed.
 */
bool table_narrow(const struct table_column *columns, size_t count, size_t *widths, size_t room);

/* A row as it is shown, as many lines as its longest text needs. */
void table_row_folded(FILE *out, const struct table_column *columns, size_t count,
	char *const *texts, const size_t *widths);

/* A row as lines of `title`, `value`, folded at `room`. title: gets the title of a column. */
void table_row_listed(FILE *out, size_t count, char *const *texts, size_t room,
	const char *(*title)(void *user, size_t column), void *user);

#endif
