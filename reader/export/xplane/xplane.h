/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xplane.h - a report as an XSpace, which XProf (PyPI xprof) and TensorBoard's profile plugin read.
 *
 * Source: openxla/xla, third_party/tsl/tsl/profiler/protobuf/xplane.proto (numbers of fields);
 * openxla/xprof, xprof/convert and xprof/utils (names of planes, lines, events and stats that its
 * tools look for). Checked with xprof 2.24.2.
 *
 * A plane is one message and so is a line, so events wait in a temporary file (temporary_stream.h)
 * until all are there. Memory follows the number of lines and of distinct names.
 */
#ifndef READER_EXPORT_XPLANE_XPLANE_H
#define READER_EXPORT_XPLANE_XPLANE_H

#include <stdio.h>

#include "reader/export/timeline/timeline.h"

/* Ranges of NVTX that this pattern of a shell matches are the steps of the profile; NULL = none.
 * Writes all events that have a place; the timeline has been started. 0 or a negative errno
 * (-EPIPE: the stream failed). One thread; allocates; writes files. */
int xplane_write(FILE *out, struct timeline *t, const char *steps);

#endif
