/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_json.h - printer of texts in the data of a page (page.h).
 *
 * No state. One thread.
 */
#ifndef READER_CLI_REPORT_PAGE_JSON_H
#define READER_CLI_REPORT_PAGE_JSON_H

#include <stdio.h>

#include "reader/sql/connection.h"

#define PAGE_TEXT_BYTES 300u  /* longest text in the page; longer ones are cut */
#define PAGE_CELL_BYTES 2000u /* longest text in a table cell, which shows kernel names in full */

/* Print `bytes` of a text as a JSON string, cut to PAGE_TEXT_BYTES. */
void page_text(FILE *out, const char *text, size_t bytes);

/* Print a text of a table: cut to PAGE_CELL_BYTES. */
void page_cell(FILE *out, const char *text, size_t bytes);

/* Print a value as page_text() does; "" if it is not a text. */
void page_value(FILE *out, const struct sql_value *v);

#endif
