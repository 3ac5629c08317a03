/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ncu.h - `trace export --type ncu`: every kernel launch as a result of a report of Nsight Compute.
 *
 * As the writer's own (writer/results.c), but all of them, with names as their authors wrote them,
 * the NVTX ranges that were open at the call, and its callchain. In order of their start on the
 * device. One thread; allocates. Memory: what cursor.h and ncu_calls.h say, and one block.
 */
#ifndef READER_EXPORT_NCU_NCU_H
#define READER_EXPORT_NCU_NCU_H

#include <stdint.h>
#include <stdio.h>

#include "reader/export/ncu/code.h"
#include "reader/report/cursor.h"
#include "reader/symbols/symbols.h"

#define NCU_DEVICES_MAX 256u   /* of all processes: more is no real report */
#define NCU_DEVICE_COLUMNS 64u /* by number */

/* What has to be known before the first result. All zero at first. */
struct ncu_devices {
	struct ncu_device {
		uint32_t process;
		uint64_t columns[NCU_DEVICE_COLUMNS];
	} rows[NCU_DEVICES_MAX];
	uint32_t count;
	uint32_t cuda_version; /* of the driver, 13000 = 13.0; 0 = not known */
};

/* Takes a batch in, of whatever kind: for a visitor of the first pass. 0 or -ENOMEM. */
int ncu_devices_collect(struct ncu_devices *d, const struct event_batch *batch);

struct ncu_tally {
	uint64_t launches;
	uint64_t without_call;    /* whose API call is not in the report */
	uint64_t ranges_left_out; /* of NVTX: too many were open at a time */
	uint64_t states_left_out; /* calls whose ranges there was no room for */
};

/* Writes the report, the code of modules first. Contents have been read into the cursor's, symbols
 * are over them. 0 or a negative errno: -EPIPE, the stream failed. */
int ncu_write(FILE *out, struct cursor *cursor, struct symbols *symbols,
	const struct ncu_devices *devices, struct ncu_code *code, struct ncu_tally *ret_tally);

#endif
