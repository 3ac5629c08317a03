/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - the page of `trace report --html`: one file with script and data, which a browser shows
 * without a network.
 *
 * The script is reader/web, bundled when the program is built. Data is one JSON object in an
 * element that no browser runs. Texts of the report cannot end that element, since every `<` is
 * written as \u003c, and the page permits no script but its own (Content-Security-Policy, by hash).
 *
 * One thread; allocates.
 */
#ifndef READER_CLI_REPORT_PAGE_H
#define READER_CLI_REPORT_PAGE_H

#include "reader/cli/report/overview.h"
#include "reader/cli/database/stats.h"

#define PAGE_REPORTS_MAX 2u
#define PAGE_TIMELINE_BYTES (8u << 20) /* size of all timelines of the page together */

/* Return whether the script was bundled into this program. */
bool page_is_built(void);

/* Open a stream for JSON that escapes it, so that it cannot end the element, and writes it to
 * `out`. The caller closes it before writing more to `out`. Returns NULL if there is no memory. */
FILE *page_escaped(FILE *out);

/* Write the parts of the page before and after the data. */
void page_begin(FILE *out);
void page_end(FILE *out);

/* Write one report: its overview, tables, findings, timeline (at most timeline_bytes) and
 * callchains; with `path`, also the critical path, of which `path` has the arguments ("range=x" or
 * ""). Returns 0 or a negative errno; d->sql has the cause if the database failed. */
int page_report(FILE *out, const struct overview *o, struct stats_database *d,
	size_t timeline_bytes, const char *path);

#endif
