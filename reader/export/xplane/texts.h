/* SPDX-License-Identifier: Apache-2.0 */
/*
 * texts.h - texts of an XSpace, numbered from 1, and the NVTX ranges that were open during calls.
 * One thread; allocates. Memory grows with the number of distinct texts and open ranges.
 */
#ifndef READER_EXPORT_XPLANE_TEXTS_H
#define READER_EXPORT_XPLANE_TEXTS_H

#include "reader/export/xplane/state.h"

/* Initialize the texts and ranges of `x`. Returns 0 or -ENOMEM; release them in either case. */
int xplane_texts_init(struct xplane *x);
void xplane_texts_release(struct xplane *x);

/* Return the number of a text, which is added if needed; 0 = out of memory. */
uint32_t xplane_text(struct xplane *x, const char *text, size_t bytes);

/* Return the number of the name of an event; 0 = out of memory. */
uint32_t xplane_event_text(struct xplane *x, const struct timeline_item *i);

/* Return the number of the "tf_op" (name:type) by which XProf aggregates an NVTX range: its text
 * with '_' for colons, and its domain in letters, digits and '_'. `range` is the number of its
 * text, 0 = no range. Returns 0 when out of memory. */
uint32_t xplane_operation(struct xplane *x, uint32_t range);

/* Write the name of a track of memory in use; it includes the process if there are several *
 * processes. */
void xplane_allocator(
	const struct xplane *x, const struct track *track, char out[XPLANE_ALLOCATOR_BYTES]);

/* Record an NVTX range of a thread. Returns 0 or -ENOMEM. */
int xplane_range_note(struct xplane *x, const struct timeline_item *i, uint32_t text);

/* Return the number of the text of the innermost range that was open at a call, or at the call that
 * started a device event; 0 = none, or no longer known. */
uint32_t xplane_range_of(struct xplane *x, const struct timeline_item *i);

#endif
