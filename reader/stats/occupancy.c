/* SPDX-License-Identifier: Apache-2.0 */
/* occupancy.c - theoretical occupancy of a kernel. */
#include "reader/stats/occupancy.h"

#include <errno.h>

#define REGISTERS_UNIT 256u /* granularity of allocation for a warp */

uint32_t occupancy_partitions(const struct occupancy_device *d)
{
	if (d->major < 3)
		return 0;
	return d->major == 6 && !d->minor ? 2 : 4;
}

static uint64_t rounded(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static uint32_t least(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

/* Return the number of blocks that fit into the registers. Each partition of a multiprocessor has
 * its own registers and holds whole warps. */
static uint64_t register_blocks(
	const struct occupancy_device *d, const struct occupancy_kernel *k, uint32_t block_warps)
{
	uint64_t parts = occupancy_partitions(d) ? occupancy_partitions(d) : 1;
	uint64_t of_warp = rounded((uint64_t)k->registers * d->warp_threads, REGISTERS_UNIT);
	if (!of_warp || !d->registers)
		return UINT32_MAX;
	return d->registers / parts / of_warp * parts / block_warps;
}

static uint64_t shared_blocks(const struct occupancy_device *d, const struct occupancy_kernel *k)
{
	uint64_t unit = d->major >= 8 ? 128 : 256;
	if (k->shared_bytes > UINT32_MAX || d->reserved_bytes > UINT32_MAX)
		return 0;
	uint64_t of_block = rounded(k->shared_bytes + d->reserved_bytes, unit);
	return of_block && d->shared_bytes ? d->shared_bytes / of_block : UINT32_MAX;
}

int occupancy_of(const struct occupancy_device *d, const struct occupancy_kernel *k,
	struct occupancy *ret_occupancy)
{
	if (!d->warp_threads || !d->warps || !k->block_threads)
		return -EINVAL;
	uint64_t block_warps = ((uint64_t)k->block_threads + d->warp_threads - 1) / d->warp_threads;
	uint64_t warps_blocks = d->warps / block_warps;
	uint64_t block_limit = least(d->blocks ? d->blocks : UINT32_MAX, warps_blocks);
	uint64_t registers = register_blocks(d, k, (uint32_t)block_warps),
		 shared = shared_blocks(d, k);
	uint64_t blocks = least(least(block_limit, registers), shared);
	*ret_occupancy = (struct occupancy){
		.block_warps = (uint32_t)block_warps,
		.register_warps = least(least(registers, UINT32_MAX) * block_warps, d->warps),
		.shared_warps = least(least(shared, UINT32_MAX) * block_warps, d->warps),
		.block_limit_warps = least(block_limit * block_warps, d->warps),
		.active_warps = (uint32_t)(blocks * block_warps),
		.blocks = (uint32_t)blocks,
		.register_blocks = least(registers, UINT32_MAX),
		.shared_blocks = least(shared, UINT32_MAX),
		.warp_blocks = (uint32_t)warps_blocks,
		.device_blocks = d->blocks ? d->blocks : UINT32_MAX,
	};
	return 0;
}
