/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_nvtx.h - NVTX ranges open at the launch of a kernel, as a standard entry has them.
 *
 * Texts are the caller's, in UTF-8, and live as long as the state. One thread for each object;
 * allocates.
 */
#ifndef COMMON_NCU_LAUNCH_NVTX_H
#define COMMON_NCU_LAUNCH_NVTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ncu.pb-c.h"

/* A range that was open. */
struct launch_range {
	bool is_span;    /* of start and end: of the process; else of push and pop: of a thread */
	uint32_t tid;    /* that pushed or started it */
	uint64_t id;     /* of start and end */
	uint64_t domain; /* any number for each; 0 = the default one */
	const char *domain_name; /* where it is not the default one */
	const char *text;
	uint32_t category, color, payload_type; /* as the rows of nvtx.def have them */
	uint64_t payload;
};

struct launch_nvtx {
	Ncu__NvtxState message;
	struct nvtx_piece *pieces; /* of memory for the messages in it */
	bool broken;               /* memory was short */
};

/*
 * Fills nvtx->message: the thread `tid`, the default domain, and whatever has one of the ranges,
 * which are in the order of their start. launch_nvtx_release() is due in any case. 0 or -ENOMEM.
 */
int launch_nvtx_fill(
	struct launch_nvtx *nvtx, const struct launch_range *ranges, size_t count, uint32_t tid);
void launch_nvtx_release(struct launch_nvtx *nvtx);

#endif
