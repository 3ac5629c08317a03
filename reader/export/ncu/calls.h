/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.h - launch calls of kernels: thread, callchain, and the NVTX ranges that were open when the
 * call began.
 *
 * Events are passed in order of their start, so a launch precedes its kernels. Memory per process:
 * the most recent calls that no kernel has followed yet, at most NCU_CALLS_MAX, and the open
 * ranges, at most NCU_OPEN_MAX.
 *
 *   ncu_calls_init(); { ncu_calls_note(), ncu_call_find() } ...; ncu_calls_release()
 *
 * One thread; allocates.
 */
#ifndef READER_EXPORT_NCU_CALLS_H
#define READER_EXPORT_NCU_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "ncu.pb-c.h"
#include "reader/base/pool.h"
#include "reader/report/cursor.h"

#define NCU_CALLS_MAX (1u << 16) /* maximum number of calls per process; a power of two */
/* maximum number of open ranges per process; far more than any real program has */
#define NCU_OPEN_MAX 4096u
#define NCU_STATES_BYTES (256u << 20) /* memory for NVTX states */

struct ncu_call {
	uint64_t correlation; /* 0 = free */
	uint64_t end_ns;
	uint32_t tid;
	uint32_t chain; /* callchain node; 0 = none */
	uint8_t *nvtx;  /* NvtxState, packed; NULL = the report has no NVTX, or no room was left */
	size_t nvtx_bytes;
	bool used; /* a kernel of this call was found */
};

struct ncu_calls {
	struct contents *contents;
	struct name_filter launches;
	bool has_nvtx;
	struct ncu_origin **origins; /* indexed by process id */
	size_t origin_count;
	struct pool texts;
	uint64_t state_bytes;     /* memory in use */
	uint64_t ranges_left_out; /* ranges beyond NCU_OPEN_MAX */
	uint64_t states_left_out; /* states beyond NCU_STATES_BYTES */
};

/* Initialize. `contents`, which has been read, must outlive `c`. Returns 0 or -ENOMEM. */
int ncu_calls_init(struct ncu_calls *c, struct contents *contents);
void ncu_calls_release(struct ncu_calls *c);

/* Note an event: NVTX ranges and CUDA calls are kept, all others ignored. Returns 0 or -ENOMEM. */
int ncu_calls_note(struct ncu_calls *c, const struct event_row *row);

/* Return the call with the correlation id of a kernel; NULL = not known. Valid until the next
 * ncu_calls_note(). */
const struct ncu_call *ncu_call_find(
	struct ncu_calls *c, const struct process *process, uint64_t correlation);

/* Return a text as valid UTF-8 for a message: itself, or a copy in the pool. "" for NULL, and when
 * out of memory. */
char *ncu_text(struct pool *pool, const char *text);

#endif
