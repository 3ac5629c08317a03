/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_timeline.h - the timeline of the page (page.h).
 */
#ifndef READER_CLI_REPORT_PAGE_TIMELINE_H
#define READER_CLI_REPORT_PAGE_TIMELINE_H

#include <stdio.h>

#include "reader/sql/connection.h"

/* Print the timeline of a database as JSON, at most so many bytes. Returns 0 or a negative errno;
 * where the database failed its cause is in `s`. One thread; allocates. */
int page_timeline(FILE *out, struct sql *s, size_t bytes_most);

#endif
