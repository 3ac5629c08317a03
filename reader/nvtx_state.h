/*
 * nvtx_state.h - which expressions of a filter hold on a thread at a time.
 *
 * A report has ranges as rows made at their end, so they are all read first: nvtx_state_read()
 * makes one pass and holds 48 bytes per range of push and pop, 32 per range of start and end, of
 * the domains that the filter is about. A range is open at t when start <= t < end, and at its
 * start even when it takes no time; so a range is in itself. One thread; allocates.
 */
#ifndef READER_NVTX_STATE_H
#define READER_NVTX_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/contents.h"
#include "reader/nvtx_filter.h"

#define NVTX_STATE_DOMAINS 4096u /* of one report: more is no real one */
#define NVTX_STATE_RANGES (1u << 26)

struct nvtx_state {
	const struct nvtx_filter *filter;
	struct state_range *ranges; /* by process, thread, domain and start */
	uint32_t range_count, range_capacity;
	struct state_group *groups; /* of one process, thread and domain each */
	uint32_t group_count, group_capacity;
	struct state_span *spans; /* ranges of start and end, by process, name and start */
	uint32_t span_count, span_capacity;
};

/* `filter` lives longer. Damage is left out: a later pass tells it. 0, -ENOMEM, -E2BIG, or another
 * negative errno. */
int nvtx_state_read(struct nvtx_state *s, const struct nvtx_filter *filter, struct contents *c,
	const struct report *report);
void nvtx_state_release(struct nvtx_state *s);

/* Bits of the expressions that hold. */
uint32_t nvtx_state_at(
	const struct nvtx_state *s, uint32_t process, uint32_t tid, uint64_t time_ns);

#endif
