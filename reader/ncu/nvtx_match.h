/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_match.h - match of an NVTX filter against a result, by the ranges that were open at its
 * launch: push/pop ranges of the launching thread, start/end ranges of the process.
 *
 * No state; any thread. The default domain has the name "" in filters, and also "<default domain>".
 */
#ifndef READER_NCU_NVTX_MATCH_H
#define READER_NCU_NVTX_MATCH_H

#include "ncu.pb-c.h"
#include "reader/nvtx/filter.h"

/* Return true if the filter selects a result. A result without NVTX state has no ranges and passes
 * if there are only excludes. `state` may be NULL; thread_id is that of the result. */
bool ncu_nvtx_passes(const struct nvtx_filter *f, const Ncu__NvtxState *state, uint32_t thread_id);

#endif
