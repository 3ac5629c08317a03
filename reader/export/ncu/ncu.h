/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ncu.h - `trace export --type ncu`: every kernel launch as a result in a report of Nsight Compute,
 * and NVTX ranges with hardware metrics as results of ranges.
 *
 * Results are like the results that the writer adds (writer/cuda/results.c), but for all launches,
 * with demangled names, the NVTX ranges that were open at the call, and its callchain. They are in
 * order of their start on the device. One thread; allocates. Memory: as cursor.h and calls.h, plus
 * one block.
 */
#ifndef READER_EXPORT_NCU_NCU_H
#define READER_EXPORT_NCU_NCU_H

#include <stdint.h>
#include <stdio.h>

#include "reader/export/ncu/code.h"
#include "reader/export/ncu/metrics.h"
#include "reader/export/ncu/ranges.h"
#include "reader/report/cursor.h"
#include "reader/symbols/symbols.h"

#define NCU_DEVICES_MAX 256u   /* maximum number of devices of all processes */
#define NCU_DEVICE_COLUMNS 64u /* columns are indexed by their number */

/* Facts that must be known before the first result. All zero = empty. */
struct ncu_devices {
	struct ncu_device {
		uint32_t process;
		uint64_t columns[NCU_DEVICE_COLUMNS];
	} rows[NCU_DEVICES_MAX];
	uint32_t count;
	uint32_t cuda_version; /* CUDA version of the driver, 13000 = 13.0; 0 = not known */
};

/* Collect the rows of a batch of any kind, in the first pass. Returns 0 or -ENOMEM. */
int ncu_devices_collect(struct ncu_devices *d, const struct event_batch *batch);

struct ncu_tally {
	uint64_t launches, ranges;
	uint64_t without_call;    /* launches whose API call is not in the report */
	uint64_t ranges_left_out; /* NVTX ranges left out because too many were open */
	uint64_t states_left_out; /* calls whose NVTX ranges did not fit into memory */
};

/* Write the report, the code of modules first. The cursor's contents have been read, and `symbols`
 * uses them. Returns 0; -EPIPE if the stream failed; or another negative errno. */
int ncu_write(FILE *out, struct cursor *cursor, struct symbols *symbols,
	const struct ncu_devices *devices, const struct ncu_metrics *metrics,
	const struct ncu_ranges *ranges, struct ncu_code *code, struct ncu_tally *ret_tally);

#endif
