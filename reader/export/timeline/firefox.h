/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox.h - a report as a profile for https://profiler.firefox.com: CPU samples of each thread,
 * and markers for calls, NVTX ranges and device work.
 *
 * Source: the processed profile format of the Firefox Profiler, version 47 (docs-developer/
 * CHANGELOG-formats.md of firefox-devtools/profiler), whose viewer converts older versions. Times
 * are milliseconds.
 */
#ifndef READER_EXPORT_TIMELINE_FIREFOX_H
#define READER_EXPORT_TIMELINE_FIREFOX_H

#include <stdio.h>

#include "reader/export/timeline/timeline.h"

/* Write all events of a timeline that timeline_read() has read. `name`: what the profile is of, for
 * its title. Returns 0 or a negative errno; -EPIPE if the stream failed. Memory: the distinct
 * names and callchains of each thread; the rest is in a temporary file. One thread; allocates. */
int firefox_write(FILE *out, struct timeline *t, const char *name);

#endif
