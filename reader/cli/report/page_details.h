/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_details.h - details of the longest events of a page (page.h): arguments, results and
 * callchains.
 */
#ifndef READER_CLI_REPORT_PAGE_DETAILS_H
#define READER_CLI_REPORT_PAGE_DETAILS_H

#include <stdint.h>
#include <stdio.h>

#include "reader/sql/connection.h"

/* Called for the name of each event that is printed. Returns the bytes that it adds to the page. */
typedef size_t (*page_name_used)(void *user, uint32_t name);

/* Print the member "details" of a timeline that SQL has prepared (timeline.sql). It takes less than
 * half of bytes_most: if that is too little, only the details of the longest events are printed.
 * Returns 0 or a negative errno; `s` has the cause if the database failed. One thread;
 * allocates. */
int page_details(FILE *out, struct sql *s, size_t bytes_most, page_name_used used, void *user);

#endif
