/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload.h - results of ranges, command lists and graphs, read as if they were of a kernel.
 *
 * Nsight Compute measures more than single kernels: with --replay-mode range or app-range what lies
 * between two marks, with --graph-profiling graph a graph, and command lists. Such a result is a
 * message of its own, with the same parts under other numbers. Recast, it is a ProfileResult
 * without grid, block and source, whose names are "range", "graph" or the command list's, as ncu
 * prints them; so whatever shows results of kernels shows these.
 *
 * Format: messages RangeResult, CmdlistResult and GraphResult of common/schema/ncu.proto.
 */
#ifndef READER_NCU_WORKLOAD_H
#define READER_NCU_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "reader/ncu/results.h"

/* The bytes of a result of `kind` (not NCU_RESULT) as those of a ProfileResult; what that has no
 * field for is left out. The caller frees. 0, -EBADMSG, -ENOMEM. Any thread. */
int ncu_workload_recast(enum ncu_entry_kind kind, const uint8_t *bytes, size_t count,
	uint8_t **ret_bytes, size_t *ret_count);

/* What the entry is of, for people and other programs: "kernel", "range", "cmdlist", "graph". */
const char *ncu_workload_name(enum ncu_entry_kind kind);

#endif
