/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome.h - a report as trace events in Chrome's JSON format, with the names and arguments of the
 * PyTorch profiler for CUDA, for tools that read only this format.
 *
 * Sources: "Trace Event Format" (the JSON object format; times in microseconds). Categories,
 * args.correlation, args.stream and args.device are as expected by the PyTorch profiler and by
 * Holistic Trace Analysis 0.5 (PyPI).
 */
#ifndef READER_EXPORT_TIMELINE_CHROME_H
#define READER_EXPORT_TIMELINE_CHROME_H

#include <stdio.h>

#include "reader/export/timeline/timeline.h"

/* Write all events of a timeline that timeline_read() has read. `steps`: shell pattern for the NVTX
 * ranges that are steps of the profile; NULL = none. Returns 0 or a negative errno; -EPIPE if the
 * stream failed. One thread; allocates. */
int chrome_write(FILE *out, struct timeline *t, const char *steps);

#endif
