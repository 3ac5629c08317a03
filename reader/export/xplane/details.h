/* SPDX-License-Identifier: Apache-2.0 */
/*
 * details.h - texts that describe kernels, copies and memory sets to XProf. One thread.
 */
#ifndef READER_EXPORT_XPLANE_DETAILS_H
#define READER_EXPORT_XPLANE_DETAILS_H

#include "reader/export/xplane/state.h"

/* Return a column of an event. */
uint64_t xplane_column(const struct timeline_item *i, uint32_t field);

/* Return the number of the text that describes a kernel, copy or memory set; 0 = another event, or
 * out of memory. */
uint32_t xplane_details(struct xplane *x, const struct timeline_item *i);

/* Return the occupancy of a kernel in percent: warps that fit on a multiprocessor at once, of the
 * warps it can hold. 0 = the device is not known. */
double xplane_occupancy(const struct xplane *x, const struct timeline_item *i);

#endif
