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

/* Longest text in the page; longer ones are cut. Names of C++ functions have thousands of bytes. */
#define PAGE_TEXT_BYTES 16000u

/* Print `bytes` of a text as a JSON string, cut to PAGE_TEXT_BYTES. */
void page_text(FILE *out, const char *text, size_t bytes);

/* Print a value as page_text() does; "" if it is not a text. */
void page_value(FILE *out, const struct sql_value *v);

#endif
