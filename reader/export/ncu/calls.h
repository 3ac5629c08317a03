/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.h - what kernels were launched in: the call, its thread and callchain, and the NVTX
 * ranges that were open when it began.
 *
 * Events come in order of their start, so a launch is met before its kernels. Of each process the
 * last calls are held, as many as were not followed by a kernel yet, and more, up to
 * NCU_CALLS_MAX; and the ranges that are open, up to NCU_OPEN_MAX.
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

#define NCU_CALLS_MAX (1u << 16)      /* of a process; a power of two */
#define NCU_OPEN_MAX 4096u            /* ranges of a process at a time: more is no real one */
#define NCU_STATES_BYTES (256u << 20) /* of NVTX states that are held */

struct ncu_call {
	uint64_t correlation; /* 0 = free */
	uint64_t end_ns;
	uint32_t tid;
	uint32_t chain; /* callchain node; 0 = none */
	uint8_t *nvtx;  /* NvtxState, packed; NULL = the report has no NVTX, or no room was left */
	size_t nvtx_bytes;
	bool used; /* a kernel was found to be of it */
};

struct ncu_calls {
	struct contents *contents;
	struct name_filter launches;
	bool has_nvtx;
	struct ncu_origin **origins; /* by id of the process */
	size_t origin_count;
	struct pool texts;
	uint64_t state_bytes;     /* held */
	uint64_t ranges_left_out; /* beyond NCU_OPEN_MAX */
	uint64_t states_left_out; /* beyond NCU_STATES_BYTES */
};

/* `contents` has been read, and lives longer. 0 or -ENOMEM. */
int ncu_calls_init(struct ncu_calls *c, struct contents *contents);
void ncu_calls_release(struct ncu_calls *c);

/* Takes an event in: ranges of NVTX and calls of CUDA are kept, others are not looked at. 0 or
 * -ENOMEM. */
int ncu_calls_note(struct ncu_calls *c, const struct event_row *row);

/* The call that a kernel has the correlation id of; NULL = not known. Valid until the next
 * ncu_calls_note(). */
const struct ncu_call *ncu_call_find(
	struct ncu_calls *c, const struct process *process, uint64_t correlation);

/* The text as messages may have it, in UTF-8: itself, or a copy in the pool. "" for NULL, and when
 * memory is short. */
char *ncu_text(struct pool *pool, const char *text);

#endif
