/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools.h - a report as the messages that XProf's tools compute from an XSpace, written directly.
 *
 * Source: openxla/xprof, plugin/xprof/protobuf (field numbers) and xprof/convert (the contents that
 * its tools write). Checked with xprof 2.24.2, which computes the same messages from `--type
 * xplane`. tools.def lists the messages, and messages that no recorded event can fill.
 *
 * Events are read in order of their start. Memory grows with the number of distinct kernels,
 * ranges, steps and allocations, not with events.
 */
#ifndef READER_EXPORT_XPLANE_TOOLS_H
#define READER_EXPORT_XPLANE_TOOLS_H

#include <stdio.h>

#include "reader/export/timeline/timeline.h"

#define TOOLS_FORMAT "xplane-tools" /* name in exporters.def */

#define MESSAGE(id, file, name, what) TOOLS_##id,
enum tools_message {
#include "reader/export/xplane/tools.def"
	TOOLS_MESSAGES
};

/* Write all messages, each to its stream, from a timeline that timeline_read() has read; `steps` as
 * in xplane_write(). Returns 0 or a negative errno; -EPIPE if a stream failed. One thread;
 * allocates. */
int tools_write(FILE *const out[TOOLS_MESSAGES], struct timeline *t, const char *steps);

/* Return the name of a message's file in the output folder. */
const char *tools_file(enum tools_message message);

/* Return "name: reason" of the n-th message of XProf that is not written; NULL after the last. */
const char *tools_absent(size_t n);

#endif
