/* SPDX-License-Identifier: Apache-2.0 */
/*
 * constructs.c - the constructs of OpenACC that have begun.
 */
#include "tracer/openacc/constructs.h"

#include "common/spool.h"
#include "common/sys.h"
#include "tracer/openacc/hooks.h"

#define DEPTH_MAX 15u

struct open_constructs {
	uint64_t depth;
	uint64_t tick[DEPTH_MAX]; /* 0 = begun while the gate was closed */
};
static struct open_constructs *open_of_lanes; /* SPOOL_LANES_MAX; NULL = no runtime has asked */

void openacc_thread_start(const struct thread *t)
{
	if (open_of_lanes)
		open_of_lanes[t->lane->index % SPOOL_LANES_MAX].depth = 0;
}

void openacc_forked(void)
{
	for (uint32_t i = 0; open_of_lanes && i < SPOOL_LANES_MAX; i++)
		if (open_of_lanes[i].depth)
			open_of_lanes[i].depth = 0;
}

void construct_begin(const struct thread *t, uint64_t tick)
{
	struct open_constructs *open = &open_of_lanes[t->lane->index % SPOOL_LANES_MAX];
	if (open->depth < DEPTH_MAX)
		open->tick[open->depth] = tick;
	open->depth++;
}

uint64_t construct_end(const struct thread *t)
{
	struct open_constructs *open = &open_of_lanes[t->lane->index % SPOOL_LANES_MAX];
	if (!open->depth)
		return 0;
	open->depth--;
	return open->depth < DEPTH_MAX ? open->tick[open->depth] : 0;
}

bool constructs_start(void)
{
	static void *place;
	open_of_lanes = sys_mmap_table(&place, SPOOL_LANES_MAX * sizeof(*open_of_lanes));
	return open_of_lanes != NULL;
}
