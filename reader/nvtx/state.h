/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - lookup of the expressions of an NVTX filter that match on a thread at a given time.
 *
 * A range is recorded when it ends, so all ranges are read first: nvtx_state_read() makes one pass
 * and keeps 48 bytes per push/pop range and 32 bytes per start/end range of the domains that the
 * filter names. A range is open at time t when start <= t < end, and always at its start, so an
 * empty range contains itself. One thread; allocates.
 */
#ifndef READER_NVTX_STATE_H
#define READER_NVTX_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/nvtx/filter.h"
#include "reader/report/contents.h"

#define NVTX_STATE_DOMAINS 4096u /* maximum per report; far more than any real program has */
#define NVTX_STATE_RANGES (1u << 26)

struct nvtx_state {
	const struct nvtx_filter *filter;
	struct state_range *ranges; /* sorted by process, thread, domain and start */
	uint32_t range_count, range_capacity;
	struct state_group *groups; /* one per process, thread and domain */
	uint32_t group_count, group_capacity;
	struct state_span *spans; /* start/end ranges, by process, name and start */
	uint32_t span_count, span_capacity;
};

/* Read the NVTX ranges of a report; also fills `c`, which the caller initialized and releases.
 * `filter` must outlive `s`. Damage is skipped: a later pass reports it. Returns 0, -ENOMEM, -E2BIG
 * (too many ranges or domains), or another negative errno; release `s` in either case. */
int nvtx_state_read(struct nvtx_state *s, const struct nvtx_filter *filter, struct contents *c,
	const struct report *report);
void nvtx_state_release(struct nvtx_state *s);

/* Return the expressions of the filter that match on a thread at a time, as a bit mask. */
uint32_t nvtx_state_at(
	const struct nvtx_state *s, uint32_t process, uint32_t tid, uint64_t time_ns);

#endif
