/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_match.h - does an NVTX filter choose a result? By the ranges that its report says were open
 * at the launch: pushed ones of the launching thread, started ones of the process.
 *
 * No state; any thread. The default domain has the name "" in filters, and also "<default domain>".
 */
#ifndef READER_NCU_NVTX_MATCH_H
#define READER_NCU_NVTX_MATCH_H

#include "ncu.pb-c.h"
#include "reader/nvtx/filter.h"

/* A result without NVTX state has no ranges: it passes if there are excludes alone. `state` may be
 * NULL; thread_id is that of the result. */
bool ncu_nvtx_passes(const struct nvtx_filter *f, const Ncu__NvtxState *state, uint32_t thread_id);

#endif
