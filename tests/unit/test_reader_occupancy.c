/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_occupancy.c - compares the occupancy of kernels with CUDA's own header, if that is
 * installed, over a grid of devices and kernels, and with figures computed by hand.
 */
#include <errno.h>

#include "reader/stats/occupancy.h"
#include "tests/unit/tap.h"

#if defined(__has_include)
#if __has_include(<cuda_occupancy.h>)
#define HAVE_HEADER 1
#include <cuda_occupancy.h>
#endif
#endif

static const struct occupancy_device devices[] = {
	{3, 5, 32, 64, 16, 65536, 49152, 0},
	{5, 2, 32, 64, 32, 65536, 98304, 0},
	{6, 0, 32, 64, 32, 65536, 65536, 0},
	{6, 1, 32, 64, 32, 65536, 98304, 0},
	{7, 0, 32, 64, 32, 65536, 98304, 0},
	{7, 5, 32, 32, 16, 65536, 65536, 0},
	{8, 0, 32, 64, 32, 65536, 167936, 1024},
	{8, 6, 32, 48, 16, 65536, 102400, 1024},
	{8, 9, 32, 48, 24, 65536, 102400, 1024},
	{9, 0, 32, 64, 32, 65536, 233472, 1024},
	{10, 0, 32, 64, 32, 65536, 233472, 1024},
	{12, 0, 32, 48, 24, 65536, 102400, 1024},
};
#define DEVICES (sizeof(devices) / sizeof(devices[0]))

static void hand_made_figures(void)
{
	const struct occupancy_device *h100 = &devices[9];
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
			occupancy_of(&devices[9], &(struct occupancy_kernel){0}, &o) == -EINVAL,
		"a device without attributes, or a block without threads, has no occupancy");
	check(occupancy_of(&devices[9],
		      &(struct occupancy_kernel){UINT32_MAX, UINT32_MAX, UINT64_MAX}, &o) == 0 &&
			!o.blocks,
		"a kernel that exceeds the device's limits has no occupancy");
}

#ifdef HAVE_HEADER
/* Return the blocks that the header computes, or -1 if it cannot. */
static int blocks_by_header(const struct occupancy_device *d, const struct occupancy_kernel *k)
{
	struct cudaOccResult result;
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
		.sharedSizeBytes = 0,
		.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
		.maxDynamicSharedSizeBytes = d->shared_bytes};
	struct cudaOccDeviceState state = {.cacheConfig = CACHE_PREFER_SHARED,
		.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED};
	if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state,
		    (int)k->block_threads, k->shared_bytes) != CUDA_OCC_SUCCESS)
		return -1;
	return result.activeBlocksPerMultiprocessor;
}

static void as_the_header_has_it(void)
{
	unsigned compared = 0, differ = 0;
	for (size_t i = 0; i < DEVICES; i++)
		for (uint32_t threads = 1; threads <= 1024; threads += 31)
			for (uint32_t registers = 8; registers <= 255; registers += 13)
				for (uint64_t shared = 0; shared <= 49152 - 1024; shared += 3371) {
					const struct occupancy_kernel k = {
						threads, registers, shared};
					struct occupancy o;
					int wanted = blocks_by_header(&devices[i], &k);
					/* 0 blocks: the launch would be refused, so nobody can have
					 * traced it */
					if (wanted <= 0 || occupancy_of(&devices[i], &k, &o))
						continue;
					compared++;
					if (o.blocks != (uint32_t)wanted && !differ++)
						printf("# %u.%u: %u threads, %u registers, %u "
						       "bytes: "
						       "%u blocks, not %d\n",
							devices[i].major, devices[i].minor, threads,
							registers, (unsigned)shared, o.blocks,
							wanted);
				}
	check(compared > 50000 && !differ, "%u kernels have the blocks of cuda_occupancy.h",
		compared);
}
#endif

int main(void)
{
	hand_made_figures();
	not_enough_is_reported();
#ifdef HAVE_HEADER
	as_the_header_has_it();
#else
	check(true, "occupancy agrees with cuda_occupancy.h # SKIP no such header");
#endif
	return tap_done();
}
