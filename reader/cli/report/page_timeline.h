/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_timeline.h - the timeline of a page (page.h).
 */
#ifndef READER_CLI_REPORT_PAGE_TIMELINE_H
#define READER_CLI_REPORT_PAGE_TIMELINE_H

#include <stdio.h>

#include "reader/sql/connection.h"

/* Print the timeline of a database as JSON of at most bytes_most bytes. Returns 0 or a negative
 * errno; `s` has the cause if the database failed. One thread; allocates. */
int page_timeline(FILE *out, struct sql *s, size_t bytes_most);

#endif
