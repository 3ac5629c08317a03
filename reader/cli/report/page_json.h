/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_json.h - texts in the data of the page (page.h).
 *
 * No state. One thread.
 */
#ifndef READER_CLI_REPORT_PAGE_JSON_H
#define READER_CLI_REPORT_PAGE_JSON_H

#include <stdio.h>

#include "reader/sql/connection.h"

#define PAGE_TEXT_BYTES 300u /* of a text in the page; a longer one is cut */

/* Print a text as a JSON string, cut to PAGE_TEXT_BYTES. */
void page_text(FILE *out, const char *text, size_t bytes);

/* The same of a value; "" where it is no text. */
void page_value(FILE *out, const struct sql_value *v);

#endif
