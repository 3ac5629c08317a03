/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_chains.h - callchains of a Perfetto trace: each callchain, frame, function and file is
 * written once, before the first event that uses it.
 *
 * Memory grows with the number of distinct callchains and frames. One thread; allocates.
 */
#ifndef READER_EXPORT_TIMELINE_PERFETTO_CHAINS_H
#define READER_EXPORT_TIMELINE_PERFETTO_CHAINS_H

#include "reader/export/proto.h"
#include "reader/export/timeline/timeline.h"

struct perfetto_chain {
	uint64_t number;
	struct time_span span; /* times with the same modules */
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

/* Initialize. Both arguments must outlive `c`; perfetto_chains_release() frees the memory. */
void perfetto_chains_init(
	struct perfetto_chains *c, struct timeline *timeline, struct proto *proto);
void perfetto_chains_release(struct perfetto_chains *c);

/* Look up the id of an item's callchain, which is written if it is new; *ret_number 0 = the item
 * has none. Returns 0 or -ENOMEM. */
int perfetto_chain(struct perfetto_chains *c, const struct timeline_item *i, uint64_t *ret_number);

#endif
