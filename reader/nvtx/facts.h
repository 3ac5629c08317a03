/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.h - time, kind and message of deferred NVTX events, read from the entries of their
 * payloads.
 *
 * Any layout and any bytes are accepted. One thread; allocates.
 */
#ifndef READER_NVTX_FACTS_H
#define READER_NVTX_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "reader/nvtx/payloads.h"

/* A time, and the entry that holds it, which determines its clock. */
struct nvtx_event_time {
	bool is_set; /* the event has such a time */
	int64_t ticks;
	uint64_t layout; /* id of the layout */
	uint32_t entry;
};

struct nvtx_event_facts {
	uint64_t what; /* NVTX_SCHEMA_EVENT flags; 0 = not known */
	struct nvtx_event_time begin, end;
	bool is_begin, is_end, is_mark; /* according to flags of entries */
	uint64_t range_id, scope;
	uint32_t category, color, tid;
	bool has_text;
	const char *text; /* the message, in UTF-8 if its entry is; valid during the call */
	size_t text_bytes;
};

typedef int (*nvtx_facts_fn)(void *user, uint64_t index, const struct nvtx_event_facts *facts);

/*
 * Call `take` for each event that the row submitted, with its index in the row, until `take`
 * returns a value other than 0. *ret_missing: number of events whose bytes were not recorded; 1 if
 * the layout is not known. Returns 0, -ENOMEM, or what `take` returned.
 */
int nvtx_facts_read(struct nvtx_payloads *p, const struct nvtx_deferred_row *row,
	nvtx_facts_fn take, void *user, uint64_t *ret_missing);

#endif
