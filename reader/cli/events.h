/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - printer of the events of a report, in order of time.
 *
 * One thread per stream.
 */
#ifndef READER_CLI_EVENTS_H
#define READER_CLI_EVENTS_H

#include <stdio.h>

#include "reader/cli/base/input_state.h"
#include "reader/report/cursor.h"

struct events_form {
	bool json;          /* one JSON object per line; otherwise text */
	bool absolute;      /* times as in the file; otherwise since the start of the session */
	bool no_symbols;    /* print callchains as addresses */
	bool some;          /* fail with -ENODATA if no event passes the filter */
	const char *output; /* only what the program wrote: "stdout", "stderr" or "all"; or NULL */
	const char *symbol_path; /* symbols.h; NULL = none */
};

/* Print all events that pass the filter to `out`. `visitor` observes the pass. Returns 0 or a
 * negative errno; -EPIPE if `out` failed. */
int events_print(FILE *out, const struct cli_report *r, const struct contents_visitor *visitor,
	const struct cursor_filter *filter, const struct events_form *form);

#endif
