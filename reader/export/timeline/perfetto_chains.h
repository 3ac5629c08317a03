/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_chains.h - callchains of a trace of Perfetto: each chain, frame, function and file is
 * told once, before the first event that has it.
 *
 * Memory follows the number of distinct chains and frames. One thread; allocates.
 */
#ifndef READER_EXPORT_TIMELINE_PERFETTO_CHAINS_H
#define READER_EXPORT_TIMELINE_PERFETTO_CHAINS_H

#include "reader/export/proto.h"
#include "reader/export/timeline/timeline.h"

struct perfetto_chain {
	uint64_t number;
	struct time_span span; /* when the same modules are there */
};

struct perfetto_chains {
	struct timeline *timeline;
	struct proto *proto;
	struct map by_node, by_frame, by_text;
	struct perfetto_chain *rows;
	uint32_t count, capacity;
	uint64_t last_chain;
	uint32_t last_frame, last_text;
	struct pool texts;
};

/* Both live longer. */
void perfetto_chains_init(
	struct perfetto_chains *c, struct timeline *timeline, struct proto *proto);
void perfetto_chains_release(struct perfetto_chains *c);

/* The number of the item's chain, 0 = it has none. 0 or -ENOMEM. */
int perfetto_chain(struct perfetto_chains *c, const struct timeline_item *i, uint64_t *ret_number);

#endif
