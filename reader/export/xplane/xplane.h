/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xplane.h - a report as an XSpace, which XProf (PyPI xprof) and TensorBoard's profile plugin read.
 *
 * Source: openxla/xla, third_party/tsl/tsl/profiler/protobuf/xplane.proto (field numbers);
 * openxla/xprof, xprof/convert and xprof/utils (names of planes, lines, events and stats that its
 * tools use). Checked with xprof 2.24.2.
 *
 * Planes and lines are single messages, whose length is written first, so events are kept in a
 * temporary file (temporary_stream.h) until all are known. Memory grows with the number of lines
 * and of distinct names.
 */
#ifndef READER_EXPORT_XPLANE_XPLANE_H
#define READER_EXPORT_XPLANE_XPLANE_H

#include <stdio.h>

#include "reader/export/timeline/timeline.h"

/* Write all events of a timeline that timeline_read() has read. `steps`: shell pattern for the NVTX
 * ranges that are steps of the profile; NULL = none. Returns 0 or a negative errno; -EPIPE if the
 * stream failed. One thread; allocates; writes files. */
int xplane_write(FILE *out, struct timeline *t, const char *steps);

#endif
