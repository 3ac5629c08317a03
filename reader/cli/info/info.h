/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info.h - what a report says of itself, gathered; printed as text by info.c and as JSON by
 * info_json.c.
 */
#ifndef READER_CLI_INFO_INFO_H
#define READER_CLI_INFO_INFO_H

#include <stdio.h>

#include "reader/cli/base/input_state.h"

#define EMPTY_REASONS_BYTES 400u

struct info {
	struct cli_report r;
	struct contents c;
	uint64_t dropped;       /* events missing, of all processes */
	uint64_t damaged_lanes; /* whose rest is missing */
	uint64_t unaccounted;   /* events that are missing, and nothing says why */
	uint64_t unended;       /* traced processes without a receipt */
	uint64_t untraced, partly;
	uint64_t damage;                          /* diagnostics that say so */
	uint64_t callchain_nodes, stored_symbols; /* of all processes */
	struct nvtx_deferred deferred;
};

/* Reads a report, into zeros (r.quiet: its problems are not printed); prints why not. 0, or an exit
 * status and nothing to release. */
int info_gather(struct info *i, const char *file, bool no_wait);
void info_release(struct info *i);

/* One sentence: is anything missing? True: nothing is. */
bool info_verdict(const struct info *i, char *ret_text, size_t bytes);

/* Was a delay or a capture range waited for until the end, so that nothing was recorded? */
bool info_never_began(const struct info *i);

/* Was nothing recorded but that processes and threads ran, in a report of ours that is whole?
 * `events`: their number by kind. */
bool info_is_empty(const struct info *i);
bool info_events_empty(const uint64_t *events);

/* Why that is, likely: of the session's options, windows and processes. */
void info_empty_reasons(const struct info *i, char *ret_text, size_t bytes);

/* Print all of it as text; verbose: each process and window. */
void info_print(FILE *out, const struct info *i, bool verbose);

/* Processes as a tree; short: a line each, the first ones, remarkable receipts only. */
void info_print_processes(FILE *out, const struct process_list *l, bool verbose);

void info_print_span(FILE *out, uint64_t ns);

void info_print_json(FILE *out, const struct info *i);

#endif
