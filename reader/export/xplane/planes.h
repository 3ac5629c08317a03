/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planes.h - writes the planes of an XSpace once all events are known. One thread.
 */
#ifndef READER_EXPORT_XPLANE_PLANES_H
#define READER_EXPORT_XPLANE_PLANES_H

#include "reader/export/xplane/state.h"

/* Return the bit of xplane_line.kinds for the kind of an event; 0 = none. */
uint32_t xplane_kind_bit(const struct timeline_item *i);

/* Write all planes. Returns 0, -ENOMEM, -EPIPE (the stream failed), or another negative errno. */
int xplane_finish(struct xplane *x, FILE *out);

#endif
