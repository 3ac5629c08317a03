/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_memory_use.c - allocates device memory in known places: leaks, a peak, a failed allocation.
 *
 * Run it with devices of 16 MiB (SIM_DEVICE=memory_mib=16). In order: weights of 3 MiB (leaked, in
 * range load), a cache of 2 MiB by another thread (leaked), a buffer of 10 MiB (the peak, 15 MiB,
 * in range peak), a batch of 4 MiB and a request of 8 MiB that fails (in range step), then memory
 * of pools, managed and pinned memory, all released.
 */
#include "tests/cuda/did.h"

#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

#define MIB ((size_t)1 << 20)
#define PLACE __attribute__((noinline, visibility("default")))

struct did did;
static CUcontext context;

PLACE CUdeviceptr leak_weights(void)
{
	CUdeviceptr address;
	CHECK(cuMemAlloc(&address, 3 * MIB));
	__asm__ volatile("");
	return address;
}

PLACE void *leak_cache(void *nothing)
{
	CUdeviceptr address;
	(void)nothing;
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuMemAlloc(&address, 2 * MIB));
	RIGHT(address);
	return NULL;
}

/* Named like a function of PyTorch's caching allocator,
 * c10::cuda::CUDACachingAllocator::raw_alloc(). */
PLACE CUdeviceptr cached_alloc(size_t bytes) __asm__(
	"_ZN3c104cuda20CUDACachingAllocator9raw_allocEm");
CUdeviceptr cached_alloc(size_t bytes)
{
	CUdeviceptr address;
	CHECK(cuMemAlloc(&address, bytes));
	__asm__ volatile("");
	return address;
}

PLACE void reach_peak(void)
{
	CUdeviceptr address;
	nvtxRangePushA("peak");
	address = cached_alloc(10 * MIB);
	CHECK(cuMemFree(address));
	nvtxRangePop();
}

PLACE void run_out(void)
{
	CUdeviceptr batch, more = 0;
	nvtxRangePushA("step");
	nvtxRangePushA("forward");
	CHECK(cuMemAlloc(&batch, 4 * MIB));
	RIGHT(cuMemAlloc(&more, 8 * MIB) == CUDA_ERROR_OUT_OF_MEMORY);
	nvtxRangePop();
	nvtxRangePop();
	CHECK(cuMemFree(batch));
}

PLACE void use_other_kinds(void)
{
	CUdeviceptr pooled, managed;
	CUstream stream;
	void *pinned;
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAllocAsync(&pooled, MIB, stream));
	CHECK(cuMemAllocManaged(&managed, 2 * MIB, CU_MEM_ATTACH_GLOBAL));
	CHECK(cuMemAllocHost(&pinned, MIB / 2));
	CHECK(cuMemFreeAsync(pooled, stream));
	CHECK(cuStreamSynchronize(stream));
	CHECK(cuMemFree(managed));
	CHECK(cuMemFreeHost(pinned));
	CHECK(cuStreamDestroy(stream));
}

int main(void)
{
	pthread_t thread;
	CUdevice device;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	nvtxRangePushA("load");
	RIGHT(leak_weights());
	nvtxRangePop();
	RIGHT(!pthread_create(&thread, NULL, leak_cache, NULL));
	RIGHT(!pthread_join(thread, NULL));
	reach_peak();
	run_out();
	use_other_kinds();
	return did_end();
}
