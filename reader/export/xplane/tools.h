/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools.h - a report as the messages that XProf's tools make of an XSpace, written directly.
 *
 * Source: openxla/xprof, plugin/xprof/protobuf (numbers of fields) and xprof/convert (what its
 * tools put in). Checked with xprof 2.24.2, which makes the same of `--type xplane`. tools.def
 * lists the messages, and those that nothing recorded can fill.
 *
 * Events come in order of their start. Memory follows the number of distinct kernels, ranges, steps
 * and allocations, not that of events.
 */
#ifndef READER_EXPORT_XPLANE_TOOLS_H
#define READER_EXPORT_XPLANE_TOOLS_H

#include <stdio.h>

#include "reader/export/timeline/timeline.h"

#define TOOLS_FORMAT "xplane-tools" /* in exporters.def */

#define MESSAGE(id, file, name, what) TOOLS_##id,
enum tools_message {
#include "reader/export/xplane/tools.def"
	TOOLS_MESSAGES
};

/* Writes all messages, each to its stream; `steps` as for xplane_write(). The timeline has been
 * started. 0 or a negative errno (-EPIPE: a stream failed). One thread; allocates. */
int tools_write(FILE *const out[TOOLS_MESSAGES], struct timeline *t, const char *steps);

/* The name of a message's file in the folder. */
const char *tools_file(enum tools_message message);

/* Messages of XProf that are not written, and why: "name: reason"; NULL behind the last. */
const char *tools_absent(size_t n);

#endif
