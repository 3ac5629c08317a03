/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callchains.h - copying of the callchain nodes of a process from its spool to the report.
 *
 * A node is written once, before the first event whose callchain contains it. The amount written is
 * bounded by the nodes in the spool. One thread; allocates: if memory is short, a node is left out.
 */
#ifndef WRITER_LANE_CALLCHAINS_H
#define WRITER_LANE_CALLCHAINS_H

#include <stdint.h>

#include "writer/lane/segment.h"

/* Process the record of a callchain (lane/segment.h): write its nodes, and assign it to the next
 * event. */
record_put callchain_put;

/* Get the addresses of callchain `id`, innermost first, as stored in the report: return addresses,
 * and those of Python frames (common/frame_address.h). At most `most` of them. Return their number.
 * May remap the spool. */
uint32_t callchains_addresses(
	struct spool *spool, uint32_t id, uint64_t *ret_addresses, uint32_t most);

#endif
