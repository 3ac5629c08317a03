/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks.h - conversion from the clocks of a program's deferred NVTX events to CLOCK_MONOTONIC.
 *
 * Clocks are connected by synchronization points, by factors, and by having the same type; a time
 * is converted from clock to clock along the shortest path. Times between two points are
 * interpolated, times outside of all points extrapolated; one point is enough if the rates of both
 * clocks are known. A forked process also has the clocks of its parent. Accepts any report. One
 * thread; allocates.
 */
#ifndef READER_NVTX_CLOCKS_H
#define READER_NVTX_CLOCKS_H

#include <stdint.h>

#include "reader/nvtx/payloads.h"

#define NVTX_CLOCKS_MAX 256u      /* maximum per process; further clocks are not connected */
#define NVTX_SYNCS_MAX (1u << 20) /* maximum per process; further points are ignored */

enum nvtx_clock_result {
	NVTX_CLOCK_OK,
	NVTX_CLOCK_NO_WAY, /* no path to CLOCK_MONOTONIC */
	NVTX_CLOCK_NO_RATE /* there is a point, but the rate is not known */
};

struct nvtx_clocks {
	struct nvtx_payloads *payloads; /* owned by the caller; ready for lookups */
	uint32_t process;               /* process whose clocks are described */
	struct nvtx_clock_node *nodes;
	struct nvtx_clock_edge *edges;
	struct nvtx_clock_point *points;
	uint32_t node_count, edge_count, point_count;
};

void nvtx_clocks_init(struct nvtx_clocks *c, struct nvtx_payloads *p);
void nvtx_clocks_release(struct nvtx_clocks *c);

/* Select the process whose clocks are looked up from now on. Returns 0 or -ENOMEM. */
int nvtx_clocks_seek(struct nvtx_clocks *c, uint32_t process);

/* Convert a time of a clock. `clock`: a type, or an id in the NVTX domain with this key. *ret_ns is
 * set if the result is NVTX_CLOCK_OK. */
enum nvtx_clock_result nvtx_clock_ns(const struct nvtx_clocks *c, uint64_t domain, uint64_t clock,
	int64_t ticks, int64_t *ret_ns);

/* Return the clock that was registered for a scope; 0 = none. */
uint64_t nvtx_clock_of_scope(const struct nvtx_clocks *c, uint64_t domain, uint64_t scope);

#endif
