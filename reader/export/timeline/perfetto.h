/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto.h - a report as a Perfetto trace: protobuf messages of its tracks and events.
 *
 * Source: https://perfetto.dev/docs/reference/trace-packet-proto (field numbers),
 * https://perfetto.dev/docs/reference/synthetic-track-event (tracks, flows, interned data); checked
 * with the descriptors of the PyPI package perfetto 0.59.1.
 */
#ifndef READER_EXPORT_TIMELINE_PERFETTO_H
#define READER_EXPORT_TIMELINE_PERFETTO_H

#include <stdio.h>

#include "reader/export/timeline/timeline.h"

/* Write all events of a timeline that timeline_read() has read. Returns 0 or a negative errno;
 * -EPIPE if the stream failed. One thread; allocates. */
int perfetto_write(FILE *out, struct timeline *t);

#endif
