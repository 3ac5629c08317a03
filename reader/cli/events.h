/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - the events of a report, in order, on a stream.
 *
 * One thread per stream.
 */
#ifndef READER_CLI_EVENTS_H
#define READER_CLI_EVENTS_H

#include <stdio.h>

#include "reader/cli/base/input_state.h"
#include "reader/report/cursor.h"

struct events_form {
	bool json;               /* one object a line; else text */
	bool absolute;           /* times as in the file; else since the start of the session */
	bool no_symbols;         /* callchains as addresses */
	const char *symbol_path; /* symbols.h; NULL = none */
};

/* Prints all events that pass the filter; returns 0 or a negative errno (-EPIPE: `out` has failed).
 */
int events_print(FILE *out, const struct cli_report *r, const struct contents_visitor *visitor,
	const struct cursor_filter *filter, const struct events_form *form);

#endif
