/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_occupancy.c - compares the occupancy of kernels, and each limit of it, with CUDA's
 * own header, if that is installed, for all compute capabilities that the header knows, and with
 * figures computed by hand.
 */
#include <errno.h>
#include <limits.h>

#include "reader/stats/occupancy.h"
#include "tests/unit/tap.h"

#if defined(__has_include)
#if __has_include(<cuda_occupancy.h>)
#define HAVE_HEADER 1
#include <cuda_occupancy.h>
#endif
#endif

/* All compute capabilities that cuda_occupancy.h of CUDA 13.0 knows from 7.0 on, and some older. */
static const struct occupancy_device devices[] = {
	{3, 5, 32, 64, 16, 65536, 49152, 0},
	{5, 2, 32, 64, 32, 65536, 98304, 0},
	{6, 0, 32, 64, 32, 65536, 65536, 0},
	{6, 1, 32, 64, 32, 65536, 98304, 0},
	{7, 0, 32, 64, 32, 65536, 98304, 0},
	{7, 2, 32, 64, 32, 65536, 98304, 0},
	{7, 5, 32, 32, 16, 65536, 65536, 0},
	{8, 0, 32, 64, 32, 65536, 167936, 1024},
	{8, 6, 32, 48, 16, 65536, 102400, 1024},
	{8, 7, 32, 48, 16, 65536, 167936, 1024},
	{8, 8, 32, 48, 16, 65536, 102400, 1024},
	{8, 9, 32, 48, 24, 65536, 102400, 1024},
	{9, 0, 32, 64, 32, 65536, 233472, 1024},
	{10, 0, 32, 64, 32, 65536, 233472, 1024},
	{10, 1, 32, 48, 24, 65536, 233472, 1024},
	{10, 3, 32, 64, 32, 65536, 233472, 1024},
	{11, 0, 32, 48, 24, 65536, 233472, 1024},
	{12, 0, 32, 48, 24, 65536, 102400, 1024},
	{12, 1, 32, 48, 24, 65536, 102400, 1024},
};
#define DEVICES (sizeof(devices) / sizeof(devices[0]))
#define H100 12 /* compute capability 9.0 */

static void hand_made_figures(void)
{
	const struct occupancy_device *h100 = &devices[H100];
	struct occupancy o;
	/* 256 threads x 16 registers: 8 warps of 512 registers; the number of warps is the limit */
	check(occupancy_of(h100, &(struct occupancy_kernel){256, 16, 0}, &o) == 0 &&
			o.block_warps == 8 && o.active_warps == 64 && o.blocks == 8,
		"small blocks with few registers fill a multiprocessor");
	/* 40 registers: 1280 a warp, 12 in each quarter: 48 warps, one block of 32 */
	check(occupancy_of(h100, &(struct occupancy_kernel){1024, 40, 1024}, &o) == 0 &&
			o.register_warps == 32 && o.active_warps == 32 && o.blocks == 1,
		"registers limit the number of whole blocks");
	/* 100 KiB and 1 KiB reserved: two in 228 KiB */
	check(occupancy_of(h100, &(struct occupancy_kernel){128, 32, 102400}, &o) == 0 &&
			o.shared_warps == 8 && o.active_warps == 8 && o.blocks == 2,
		"shared memory limits the number of blocks, with the system's share added");
	check(occupancy_of(h100, &(struct occupancy_kernel){32, 16, 0}, &o) == 0 &&
			o.block_limit_warps == 32 && o.active_warps == 32,
		"the device limits the number of blocks");
}

static void not_enough_is_reported(void)
{
	struct occupancy o;
	const struct occupancy_device none = {0};
	check(occupancy_of(&none, &(struct occupancy_kernel){256, 16, 0}, &o) == -EINVAL &&
			occupancy_of(&devices[H100], &(struct occupancy_kernel){0}, &o) == -EINVAL,
		"a device without attributes, or a block without threads, has no occupancy");
	check(occupancy_of(&devices[H100],
		      &(struct occupancy_kernel){UINT32_MAX, UINT32_MAX, UINT64_MAX}, &o) == 0 &&
			!o.blocks,
		"a kernel that exceeds the device's limits has no occupancy");
}

#ifdef HAVE_HEADER
/* Let the header compute the occupancy. Returns false if it cannot. */
static bool header_result(const struct occupancy_device *d, const struct occupancy_kernel *k,
	struct cudaOccResult *ret_result)
{
	struct cudaOccDeviceProp device = {.computeMajor = (int)d->major,
		.computeMinor = (int)d->minor,
		.maxThreadsPerBlock = 1024,
		.maxThreadsPerMultiprocessor = (int)(d->warps * d->warp_threads),
		.regsPerBlock = (int)d->registers,
		.regsPerMultiprocessor = (int)d->registers,
		.warpSize = (int)d->warp_threads,
		.sharedMemPerBlock = 49152,
		.sharedMemPerMultiprocessor = d->shared_bytes,
		.numSms = 10,
		.sharedMemPerBlockOptin = d->shared_bytes - d->reserved_bytes,
		.reservedSharedMemPerBlock = d->reserved_bytes};
	struct cudaOccFuncAttributes kernel = {.maxThreadsPerBlock = 1024,
		.numRegs = (int)k->registers,
		.numBlockBarriers = 1,
		.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
		.maxDynamicSharedSizeBytes = d->shared_bytes};
	struct cudaOccDeviceState state = {.cacheConfig = CACHE_PREFER_SHARED,
		.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED};
	return cudaOccMaxActiveBlocksPerMultiprocessor(ret_result, &device, &kernel, &state,
		       (int)k->block_threads, k->shared_bytes) == CUDA_OCC_SUCCESS;
}

static bool same_limit(int header, uint32_t ours)
{
	return header == INT_MAX ? ours == UINT32_MAX : (uint32_t)header == ours;
}

static bool is_same(const struct cudaOccResult *header, const struct occupancy *ours)
{
	return same_limit(header->activeBlocksPerMultiprocessor, ours->blocks) &&
		same_limit(header->blockLimitRegs, ours->register_blocks) &&
		same_limit(header->blockLimitSharedMem, ours->shared_blocks) &&
		same_limit(header->blockLimitWarps, ours->warp_blocks) &&
		same_limit(header->blockLimitBlocks, ours->device_blocks);
}

struct tally {
	unsigned compared, differ;
};

static void kernel_compare(
	const struct occupancy_device *d, const struct occupancy_kernel *k, struct tally *t)
{
	struct cudaOccResult header = {0};
	struct occupancy ours = {0};
	t->compared++;
	if (header_result(d, k, &header) && !occupancy_of(d, k, &ours) && is_same(&header, &ours))
		return;
	if (d->major < 7 && !header.activeBlocksPerMultiprocessor)
		return; /* 6.0 refuses launches that 6.1 cannot run */
	if (!t->differ++)
		printf("# %u threads, %u registers, %u bytes: %u blocks, not %d\n",
			k->block_threads, k->registers, (unsigned)k->shared_bytes, ours.blocks,
			header.activeBlocksPerMultiprocessor);
}

/* Before 7.0 a block cannot use more than 48 KiB. */
static uint64_t shared_limit(const struct occupancy_device *d)
{
	return d->major < 7 ? 49152 : d->shared_bytes + 4096;
}

/* Compare blocks and each limit; from 7.0 on also for launches that the device would refuse, with 0
 * blocks. */
static void as_the_header_has_it(const struct occupancy_device *d)
{
	struct tally t = {0};
	for (uint32_t threads = 1; threads <= 1024; threads += threads % 32 ? 31 : 1)
		for (uint32_t registers = 0; registers <= 255; registers += 3)
			for (uint64_t shared = 0; shared <= shared_limit(d); shared += 3371)
				kernel_compare(d,
					&(struct occupancy_kernel){threads, registers, shared}, &t);
	check(t.compared > 80000 && !t.differ,
		"%u.%u: blocks and limits of %u kernels are those of cuda_occupancy.h", d->major,
		d->minor, t.compared);
}
#endif

int main(void)
{
	hand_made_figures();
	not_enough_is_reported();
#ifdef HAVE_HEADER
	for (size_t i = 0; i < DEVICES; i++)
		as_the_header_has_it(&devices[i]);
#else
	check(true, "occupancy agrees with cuda_occupancy.h # SKIP no such header");
#endif
	return tap_done();
}
