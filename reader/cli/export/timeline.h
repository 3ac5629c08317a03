/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.h - `trace export` to the formats of timeline viewers, and the notes of all exports
 * about events that their format cannot store.
 *
 * One thread.
 */
#ifndef READER_CLI_EXPORT_TIMELINE_H
#define READER_CLI_EXPORT_TIMELINE_H

#include "reader/cli/base/input_state.h"
#include "reader/cli/base/options.h"
#include "reader/export/xplane/tools.h"

/* Write the report in `format` (a name of exporters.def), and print on stderr the events that the
 * format cannot store. Returns 0 or a negative errno. */
int export_timeline(FILE *out, struct cli_report *r, const struct options *o, const char *format,
	const struct contents_visitor *visitor);

/* Write XProf's result messages, each to the stream of its index in `out`. Otherwise as
 * export_timeline(). */
int export_tools_messages(FILE *const out[TOOLS_MESSAGES], struct cli_report *r,
	const struct options *o, const struct contents_visitor *visitor);

/* Print the error of an export that would have no row. `advice` is what to do, or NULL. */
void export_found_nothing(const struct cli_report *r, const char *format, const char *advice);

/* Print the counts of events by kind (SCHEMA_KINDS elements), if any is not 0, as events that the
 * format cannot store. */
void export_note_left_out(const char *path, const char *format, const uint64_t *by_kind);

/* As export_note_left_out(), for a format that stores only the kinds in `carried`, which ends with
 * 0: print the counts of the selected events of `c`, without those that describe other events
 * (threads, modules). */
void export_note_others(
	const char *path, const char *format, const struct contents *c, const uint32_t *carried);

/* Print how many results of Nsight Compute the format cannot store, if the report holds nothing
 * else. Call it after a whole pass, which filled `c`. */
void export_note_results(const char *path, const char *format, const struct contents *c);

#endif
