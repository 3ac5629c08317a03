/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_list.h - the table that `trace export --list-tables` prints.
 */
#ifndef READER_CLI_EXPORT_TABLE_LIST_H
#define READER_CLI_EXPORT_TABLE_LIST_H

#include <stddef.h>
#include <stdio.h>

#define TABLE_LIST_LEAST 110u

/* Print a table of the tables of nsys's published schema: which source fills each, which test
 * compares its rows, or why no report has it. width: in columns, at least TABLE_LIST_LEAST; texts
 * are folded within their column. One thread. */
void table_list_print(FILE *out, size_t width);

#endif
