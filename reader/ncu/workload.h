/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload.h - conversion of results of ranges, command lists and graphs to results of a kernel.
 *
 * Nsight Compute measures more than single kernels: the span between two marks (--replay-mode range
 * or app-range), a graph (--graph-profiling graph), and command lists. Such a result is a message
 * of its own type, with the same parts under other field numbers. It is converted to a
 * ProfileResult without grid, block and source, whose names are "range", "graph" or that of the
 * command list, as ncu prints them; so code that displays results of kernels displays these, too.
 *
 * Format: messages RangeResult, CmdlistResult and GraphResult of common/schema/ncu.proto.
 */
#ifndef READER_NCU_WORKLOAD_H
#define READER_NCU_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "reader/ncu/results.h"

/* Convert a result of `kind` (not NCU_RESULT) to the bytes of a ProfileResult, which the caller
 * frees; fields without a counterpart are dropped. Returns 0, -EBADMSG or -ENOMEM. Any thread. */
int ncu_workload_recast(enum ncu_entry_kind kind, const uint8_t *bytes, size_t count,
	uint8_t **ret_bytes, size_t *ret_count);

/* Return the kind of workload of an entry, for people and programs: "kernel", "range", "cmdlist",
 * "graph". */
const char *ncu_workload_name(enum ncu_entry_kind kind);

#endif
