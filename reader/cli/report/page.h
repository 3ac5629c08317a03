/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - the page that `trace report --html` makes: one file with everything in it, script and
 * data, that a browser shows without a network.
 *
 * The script is reader/web, bundled when the program is built. Data is one JSON object in an
 * element that no browser runs; texts of the report cannot end it, since every `<` is written as
 * \u003c, and the page allows no script but its own (Content-Security-Policy, by hash).
 *
 * One thread; allocates.
 */
#ifndef READER_CLI_REPORT_PAGE_H
#define READER_CLI_REPORT_PAGE_H

#include "reader/cli/report/overview.h"
#include "reader/cli/database/stats.h"

#define PAGE_REPORTS_MAX 2u
#define PAGE_TIMELINE_BYTES (7u << 20) /* of all its reports together */

/* Was the script bundled into this program? */
bool page_is_built(void);

/* Where the JSON goes that follows: a stream that writes to `out` in a form that ends no element.
 * Close it before more is written to `out`. NULL = no memory. */
FILE *page_escaped(FILE *out);

/* What comes before the data, and behind it. */
void page_begin(FILE *out);
void page_end(FILE *out);

/* One report: its overview, tables, findings, timeline (at most so many bytes) and callchains. 0 or
 * a negative errno; where the database failed its cause is in d->sql. */
int page_report(
	FILE *out, const struct overview *o, struct stats_database *d, size_t timeline_bytes);

#endif
