/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info.h - the contents of a report and the verdict on it, as `trace info` prints them.
 *
 * info.c prints text, json.c prints JSON. One thread; allocates.
 */
#ifndef READER_CLI_INFO_INFO_H
#define READER_CLI_INFO_INFO_H

#include <stdio.h>

#include "reader/cli/base/input_state.h"
#include "reader/cli/database/input.h"

#define EMPTY_REASONS_BYTES 400u

struct info {
	struct cli_report r;
	struct contents c;
	uint64_t dropped;       /* dropped events of all processes */
	uint64_t damaged_lanes; /* lanes that are damaged, so that the rest of them is missing */
	uint64_t unaccounted;   /* events missing without a known reason */
	uint64_t unended;       /* traced processes without a receipt */
	uint64_t untraced, partly;
	uint64_t damage;                          /* number of diagnostics about damage */
	uint64_t callchain_nodes, stored_symbols; /* of all processes */
	struct nvtx_deferred deferred;
	struct foreign_facts source; /* format is empty, unless the file is of another kind, whose
				      * events were converted */
};

/* Read a report, or the events of a database. `i` must be zeros, except that r.quiet may be set, so
 * that problems of the report are counted and not printed. Returns 0; or an exit status after a
 * message, and then there is nothing to release. */
int info_gather(struct info *i, const char *file, bool no_wait);

/* Close the report and free all memory. */
void info_release(struct info *i);

/* Write the verdict, one sentence that says whether anything is missing. Returns true if nothing
 * is missing. */
bool info_verdict(const struct info *i, char *ret_text, size_t bytes);

/* Return whether nothing was recorded because a delay had not ended, or no capture range had begun,
 * when the recording ended. */
bool info_never_began(const struct info *i);

/* Return whether a complete report of libtrace contains no events except those that every process
 * has (starts, ends, modules). info_events_empty() checks only `events`, the number of events by
 * kind. */
bool info_is_empty(const struct info *i);
bool info_events_empty(const uint64_t *events);

/* Write the likely reasons for an empty report, derived from the session's options, windows and
 * processes. bytes: at most EMPTY_REASONS_BYTES are needed. */
void info_empty_reasons(const struct info *i, char *ret_text, size_t bytes);

/* Print the report's contents as text. verbose: each process and each window. */
void info_print(FILE *out, const struct info *i, bool verbose);

/* Write the number of processes and, if some executed other programs, that of program images. */
void info_process_count(const struct process_list *l, char *ret_text, size_t bytes);

/* Print the processes as a tree. patterns: functions of libraries were asked for by --functions.
 * Unless verbose: one line each, only the first processes, and only remarkable receipts. */
void info_print_processes(FILE *out, const struct process_list *l, bool patterns, bool verbose);

/* Return true if CPU samples cover less than half of the processor time, because threads blocked
 * the signal that takes them; then write how much they cover. */
bool info_unsampled(const struct info *i, char *ret_text, size_t bytes);

/* Write how the program of the session ended, after its last exec. Returns false if that is not
 * known. */
bool info_program_end(const struct info *i, char *ret_text, size_t bytes);

/* Print a duration given in nanoseconds. */
void info_print_span(FILE *out, uint64_t ns);

/* Print the reports that it was merged from, and what is known of their clocks; as JSON: the
 * elements of an array. verbose: each report. */
void info_print_merged(FILE *out, const struct contents *c, bool verbose);
void info_print_merged_json(FILE *out, const struct contents *c);

/* Print the report's contents as a JSON object. */
void info_print_json(FILE *out, const struct info *i);

#endif
