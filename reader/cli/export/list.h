/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.h - the formats of `trace export`, and `export --list`: one table of them. Constant
 * data; one thread.
 */
#ifndef READER_CLI_EXPORT_LIST_H
#define READER_CLI_EXPORT_LIST_H

#include <stddef.h>
#include <stdio.h>

/* A row of reader/export/exporters.def. */
struct export_format {
	const char *name, *suffix, *title, *carries, *loses;
};

/* The format of that name; NULL = there is none. NULL for the name: the default one. */
const struct export_format *export_format_named(const char *name);

/* The table, `width` columns wide (at least EXPORT_LIST_LEAST): of each format what it is, what it
 * carries and what it loses. Texts go on in the next line, in their column. Behind it what one of
 * them does not write, and why. */
#define EXPORT_LIST_LEAST 80u
void export_list_print(FILE *out, size_t width);

#endif
