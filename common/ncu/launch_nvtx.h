/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_nvtx.h - NVTX ranges open at the launch of a kernel, in the form of a standard entry.
 *
 * The caller owns the texts, which are UTF-8 and must outlive the state. One thread for each
 * object; allocates.
 */
#ifndef COMMON_NCU_LAUNCH_NVTX_H
#define COMMON_NCU_LAUNCH_NVTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ncu.pb-c.h"

/* A range that was open. */
struct launch_range {
	bool is_span;    /* a start/end range, of the process; else a push/pop range, of a thread */
	uint32_t tid;    /* thread that pushed or started it */
	uint64_t id;     /* id of a start/end range */
	uint64_t domain; /* any number that is unique to the domain; 0 = the default domain */
	const char *domain_name; /* name of a domain other than the default domain */
	const char *text;
	uint32_t category, color, payload_type; /* values as in the rows of nvtx.def */
	uint64_t payload;
};

struct launch_nvtx {
	Ncu__NvtxState message;
	struct nvtx_piece *pieces; /* memory of the messages within `message` */
	bool broken;               /* an allocation failed */
};

/*
 * Fill nvtx->message: the thread `tid`, the default domain, and each thread and domain of the
 * ranges, which are in the order of their start. Return 0 or -ENOMEM; call launch_nvtx_release()
 * in either case.
 */
int launch_nvtx_fill(
	struct launch_nvtx *nvtx, const struct launch_range *ranges, size_t count, uint32_t tid);
void launch_nvtx_release(struct launch_nvtx *nvtx);

#endif
