/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launches.h - calls of a process that launch kernels, with the NVTX ranges that were open when
 * they began and the callchains that they carry: for the results of kernels.
 *
 * Ranges become rows when they end, so a call collects them as they come by. Of each process the
 * first LAUNCH_CALLS_FIRST calls and those of results are held until it has ended, of the others
 * the latest, some LAUNCH_CALLS in all. Times are ticks of the spool, which compare exactly.
 *
 *   { launches_note_call(), launches_note_range(), launches_keep() } ...; launches_ranges(),
 *   launches_free()
 *
 * One thread; allocates. Where memory is short a call lacks ranges.
 */
#ifndef WRITER_LAUNCHES_H
#define WRITER_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/ncu/launch_nvtx.h"
#include "common/spool.h"

#define LAUNCH_CALLS 16384u /* a power of two */
#define LAUNCH_CALLS_FIRST 1000u
#define LAUNCH_RANGES_MAX 64u /* of a call: the innermost ones */

struct spool;
struct launches;

struct launch_call {
	uint64_t tick;
	uint64_t order; /* from 1 on, in the order of their records; 0 = none */
	uint32_t correlation, tid;
	uint32_t chain; /* callchain node, 0 = none */
	uint32_t first; /* 1 + index of the link to its latest range */
	uint32_t older; /* 1 + place of the thread's call before it */
	uint32_t older_kept;
	uint64_t older_order;
	bool kept;
};

/* A range that has ended, or was open at the end of the process. */
struct launch_span {
	uint64_t tick, end_tick;
	bool is_span; /* of start and end */
	uint32_t tid; /* that pushed or started it */
	uint64_t id;
	uint32_t domain, name; /* of the spool; 0 = none */
	const char *text;      /* where it has no name: bytes in the spool */
	uint32_t text_bytes;
	struct nvtx_attributes attributes;
};

/* A call of the CUDA APIs has returned: held if it launches something, as its name says. */
void launches_note_call(struct spool *spool, const struct launch_call *call, uint32_t name,
	uint32_t api, uint32_t cbid);

/* For processes that have launched something (spool->launches). May map the spool anew. */
void launches_note_range(struct spool *spool, const struct launch_span *range);

/* The call with this id, held from now on; NULL = not known. Valid as long as `l`. */
const struct launch_call *launches_keep(struct launches *l, uint32_t correlation);

/* The ranges that were open when the call began, outermost first: those of its thread, and those of
 * start and end. `ret` has room for LAUNCH_RANGES_MAX; texts live as long as `l`. Returns how many.
 */
uint32_t launches_ranges(
	const struct launches *l, const struct launch_call *call, struct launch_range *ret);

#endif
