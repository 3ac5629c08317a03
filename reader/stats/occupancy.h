/* SPDX-License-Identifier: Apache-2.0 */
/*
 * occupancy.h - theoretical occupancy of a kernel: how many of its blocks and warps fit on a
 * multiprocessor at once, and what limits them.
 *
 * Follows the rules of CUDA's cuda_occupancy.h (CUDA 13.0) for compute capability 3 to 12, except
 * for partitioned caching of 5.x and block barriers. Pure functions; any thread.
 */
#ifndef READER_STATS_OCCUPANCY_H
#define READER_STATS_OCCUPANCY_H

#include <stdint.h>

/* Limits of a device, from its attributes; 0 = not known and thus no limit. */
struct occupancy_device {
	uint32_t major, minor; /* compute capability */
	uint32_t warp_threads;
	uint32_t warps, blocks, registers; /* maximum per multiprocessor */
	uint64_t shared_bytes;             /* maximum per multiprocessor */
	uint64_t reserved_bytes;           /* reserved by the system, per block */
};

struct occupancy_kernel {
	uint32_t block_threads;
	uint32_t registers;    /* number per thread */
	uint64_t shared_bytes; /* bytes per block, static and dynamic */
};

/* Maximum number of active warps on one multiprocessor under each limit, and under all of them;
 * block_warps: warps of a block. No value exceeds the limit of the device. */
struct occupancy {
	uint32_t block_warps;
	uint32_t register_warps, shared_warps, block_limit_warps;
	uint32_t active_warps;
	uint32_t blocks; /* active blocks */
	/* Blocks under each limit alone, UINT32_MAX = not limited; blocks is the least. */
	uint32_t register_blocks, shared_blocks, warp_blocks, device_blocks;
};

/* Compute the occupancy. Returns 0, or -EINVAL if a required value of device or kernel is 0 (warp
 * size, warps, threads). */
int occupancy_of(const struct occupancy_device *d, const struct occupancy_kernel *k,
	struct occupancy *ret_occupancy);

/* Return the number of partitions of a multiprocessor that have their own registers; 0 = not known
 * for this compute capability. */
uint32_t occupancy_partitions(const struct occupancy_device *d);

#endif
