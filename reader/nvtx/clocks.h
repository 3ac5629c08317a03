/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks.h - from the clocks of a program's deferred NVTX events to CLOCK_MONOTONIC.
 *
 * Clocks are joined by points of synchronization, by factors, and by being of one type; a time goes
 * from clock to clock on the shortest way. Between two points it is interpolated, outside of all
 * of them continued; one point alone is enough where the rates of both clocks are known. A forked
 * process has the clocks of its parent, too. One thread; allocates. Any report may come.
 */
#ifndef READER_NVTX_CLOCKS_H
#define READER_NVTX_CLOCKS_H

#include <stdint.h>

#include "reader/nvtx/payloads.h"

#define NVTX_CLOCKS_MAX 256u      /* of one process; further ones lead nowhere */
#define NVTX_SYNCS_MAX (1u << 20) /* likewise */

enum nvtx_clock_result {
	NVTX_CLOCK_OK,
	NVTX_CLOCK_NO_WAY, /* nothing leads from it to ours */
	NVTX_CLOCK_NO_RATE /* a point does, but not how fast it runs */
};

struct nvtx_clocks {
	struct nvtx_payloads *payloads; /* the caller's, ready */
	uint32_t process;               /* that the rest is about */
	struct nvtx_clock_node *nodes;
	struct nvtx_clock_edge *edges;
	struct nvtx_clock_point *points;
	uint32_t node_count, edge_count, point_count;
};

void nvtx_clocks_init(struct nvtx_clocks *c, struct nvtx_payloads *p);
void nvtx_clocks_release(struct nvtx_clocks *c);

/* The clocks of a process are asked for from now on. 0 or -ENOMEM. */
int nvtx_clocks_seek(struct nvtx_clocks *c, uint32_t process);

/* A time of a clock, an id of the NVTX domain with this key or a type; *ret_ns when it is OK. */
enum nvtx_clock_result nvtx_clock_ns(const struct nvtx_clocks *c, uint64_t domain, uint64_t clock,
	int64_t ticks, int64_t *ret_ns);

/* The clock that was registered for a scope; 0 = none was. */
uint64_t nvtx_clock_of_scope(const struct nvtx_clocks *c, uint64_t domain, uint64_t scope);

#endif
