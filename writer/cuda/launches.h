/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launches.h - calls of a process that launch kernels, with the NVTX ranges that were open when
 * they began and the callchains that they carry: for the results of kernels.
 *
 * Ranges become rows when they end, so a call collects them as their rows are added. For each
 * process, the first LAUNCH_CALLS_FIRST calls and the calls of results are held until the process
 * has ended; of all other calls, only the latest are held, about LAUNCH_CALLS in all. Times are
 * ticks of the spool, which compare exactly.
 *
 *   { launches_note_call(), launches_note_range(), launches_keep() } ...; launches_ranges()
 *
 * One thread; allocates. If memory is short, ranges of a call are missing.
 */
#ifndef WRITER_CUDA_LAUNCHES_H
#define WRITER_CUDA_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/ncu/launch_nvtx.h"
#include "common/spool.h"

#define LAUNCH_CALLS 16384u /* a power of two */
#define LAUNCH_CALLS_FIRST 1000u
#define LAUNCH_RANGES_MAX 64u /* maximum per call: the innermost ranges */

struct spool;
struct launches;

struct launch_call {
	uint64_t tick;
	uint64_t order; /* number of the call from 1, in the order of the records; 0 = none */
	uint32_t correlation, tid;
	uint32_t chain; /* id of the callchain node; 0 = none */
	uint32_t first; /* 1 + index of the link to its latest range */
	uint32_t older; /* 1 + index of the thread's call before it */
	uint32_t older_kept;
	uint64_t older_order;
	bool kept;
};

/* A range that has ended, or was open at the end of the process. */
struct launch_span {
	uint64_t tick, end_tick;
	bool is_span; /* a start/end range, not a push/pop range */
	uint32_t tid; /* thread that pushed or started the range */
	uint64_t id;
	uint32_t domain, name; /* names of the spool; 0 = none */
	const char *text;      /* text in the spool if the range has no name */
	uint32_t text_bytes;
	struct nvtx_attributes attributes;
};

/* Record a call of the CUDA APIs that has returned. The call is held if its name shows that it
 * launches something. */
void launches_note_call(struct spool *spool, const struct launch_call *call, uint32_t name,
	uint32_t api, uint32_t cbid);

/* Return the launches of a process; NULL if it has launched nothing. They are freed with the
 * spool. */
struct launches *launches_of(const struct spool *spool);

/* Record a range that has ended: add it to the launches that it contains. Does nothing if
 * launches_of() is NULL. May remap the spool. */
void launches_note_range(struct spool *spool, const struct launch_span *range);

/* Find the call with this id, and hold it from now on. NULL = not known. Valid until `l` is
 * freed. */
const struct launch_call *launches_keep(struct launches *l, uint32_t correlation);

/* Get the ranges that were open when the call began, outermost first: push/pop ranges of its
 * thread, and start/end ranges. `ret` has room for LAUNCH_RANGES_MAX; texts are valid until `l` is
 * freed. Return the number of ranges. */
uint32_t launches_ranges(
	const struct launches *l, const struct launch_call *call, struct launch_range *ret);

#endif
