/* SPDX-License-Identifier: Apache-2.0 */
/*
 * occupancy.h - theoretical occupancy of a kernel: how many of its blocks and warps fit on a
 * multiprocessor at once, and what limits them.
 *
 * Source: the rules of CUDA's cuda_occupancy.h (CUDA 13.0) for compute capability 3 to 12, without
 * partitioned caching of 5.x and block barriers. Pure functions; any thread.
 */
#ifndef READER_STATS_OCCUPANCY_H
#define READER_STATS_OCCUPANCY_H

#include <stdint.h>

/* What a device has, as its attributes say; 0 where that is not known, which limits nothing. */
struct occupancy_device {
	uint32_t major, minor; /* compute capability */
	uint32_t warp_threads;
	uint32_t warps, blocks, registers; /* of a multiprocessor, at most */
	uint64_t shared_bytes;             /* of a multiprocessor */
	uint64_t reserved_bytes;           /* of it by the system, for each block */
};

struct occupancy_kernel {
	uint32_t block_threads;
	uint32_t registers;    /* of a thread */
	uint64_t shared_bytes; /* of a block, static and dynamic */
};

/* Warps of one multiprocessor that are active at once, at most, by each of the limits, and by all
 * of them; of a block. None is above the device's own limit. */
struct occupancy {
	uint32_t block_warps;
	uint32_t register_warps, shared_warps, block_limit_warps;
	uint32_t active_warps;
	uint32_t blocks; /* active ones */
};

/* 0, or -EINVAL where device and kernel do not say enough (no warp size, no warps, no threads). */
int occupancy_of(const struct occupancy_device *d, const struct occupancy_kernel *k,
	struct occupancy *ret_occupancy);

/* Parts of a multiprocessor that have registers of their own; 0: of this capability not known. */
uint32_t occupancy_partitions(const struct occupancy_device *d);

#endif
