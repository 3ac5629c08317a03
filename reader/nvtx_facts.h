/*
 * nvtx_facts.h - what deferred NVTX events say of themselves, as far as their layouts tell: when
 * they were, by which entries; what they are; their message.
 *
 * Any layout and any bytes are taken. One thread; allocates.
 */
#ifndef READER_NVTX_FACTS_H
#define READER_NVTX_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "reader/nvtx_payloads.h"

/* A time, and the entry that has it, for its clock. */
struct nvtx_event_time {
	bool told;
	int64_t ticks;
	uint64_t layout; /* id */
	uint32_t entry;
};

struct nvtx_event_facts {
	uint64_t what; /* NVTX_SCHEMA_EVENT flags; 0 = not told */
	struct nvtx_event_time begin, end;
	bool is_begin, is_end, is_mark; /* entries say so */
	uint64_t range_id, scope;
	uint32_t category, color, tid;
	bool has_text;
	const char *text; /* the message, in UTF-8 where its entry is; during the call only */
	size_t text_bytes;
};

typedef int (*nvtx_facts_fn)(void *user, uint64_t index, const struct nvtx_event_facts *facts);

/*
 * Calls `take` for each event that was handed over in a row, by its place there; ends when that
 * returns other than 0, with it. *ret_missing: events whose bytes were not kept, or whose layout is
 * not known (then 1). 0, -ENOMEM, or what `take` returned.
 */
int nvtx_facts_read(struct nvtx_payloads *p, const struct nvtx_deferred_row *row,
	nvtx_facts_fn take, void *user, uint64_t *ret_missing);

#endif
