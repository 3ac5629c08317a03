/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.h - the formats of `trace export`, and the table that `export --list` prints.
 *
 * Constant data; one thread.
 */
#ifndef READER_CLI_EXPORT_LIST_H
#define READER_CLI_EXPORT_LIST_H

#include <stddef.h>
#include <stdio.h>

/* A row of reader/export/exporters.def. */
struct export_format {
	const char *name, *suffix, *title, *carries, *loses;
};

/* Find a format by name; NULL means the default format. Returns NULL if the name is unknown. */
const struct export_format *export_format_named(const char *name);

/* Print a table of the formats: the content of each, and the events that it keeps and loses; then
 * the events that one of them cannot store, and why. width: in columns, at least EXPORT_LIST_LEAST;
 * texts are folded within their column. */
#define EXPORT_LIST_LEAST 80u
void export_list_print(FILE *out, size_t width);

#endif
