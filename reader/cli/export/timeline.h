/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.h - `trace export` in the formats of viewers of timelines, and what an export has
 * to say of events that have no place in its format.
 */
#ifndef READER_CLI_EXPORT_TIMELINE_H
#define READER_CLI_EXPORT_TIMELINE_H

#include "reader/cli/base/input_state.h"
#include "reader/cli/base/options.h"
#include "reader/export/xplane/tools.h"

/* Writes the report in the format (a name of exporters.def), and prints on stderr what has no place
 * there. 0 or a negative errno. */
int export_timeline(FILE *out, struct cli_report *r, const struct options *o, const char *format,
	const struct contents_visitor *visitor);

/* Writes XProf's messages of results, each to the stream of its place. As above. */
int export_tools_messages(FILE *const out[TOOLS_MESSAGES], struct cli_report *r,
	const struct options *o, const struct contents_visitor *visitor);

/* Prints counts of events by kind that the format has no place for, if there are any. */
void export_note_left_out(const char *path, const char *format, const uint64_t *by_kind);

/* The same for a format that carries the kinds in `carried` alone, which ends with 0: events of the
 * report, without those that say what others mean. */
void export_note_others(
	const char *path, const char *format, const struct contents *c, const uint32_t *carried);

/* Prints how many results of Nsight Compute the format has no place for: those of a report that
 * holds nothing else. After a whole pass, which filled `c`. */
void export_note_results(const char *path, const char *format, const struct contents *c);

#endif
