/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome.h - a report as Chrome's JSON of trace events, with the names and arguments that the
 * PyTorch profiler uses for CUDA, for tools that read only that.
 *
 * Sources: "Trace Event Format" (the JSON object format; times in microseconds), and what PyTorch's
 * profiler and Holistic Trace Analysis 0.5 (PyPI) look for: categories, args.correlation,
 * args.stream, args.device.
 */
#ifndef READER_EXPORT_TIMELINE_CHROME_H
#define READER_EXPORT_TIMELINE_CHROME_H

#include <stdio.h>

#include "reader/export/timeline/timeline.h"

/* Ranges of NVTX that this pattern of a shell matches are the steps of the profile; NULL = none.
 * Writes all events that have a place; the timeline has been started. 0 or a negative errno
 * (-EPIPE: the stream failed). One thread; allocates. */
int chrome_write(FILE *out, struct timeline *t, const char *steps);

#endif
