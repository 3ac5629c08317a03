/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_memory_kinds.c - takes memory that is not allocated by cuMemAlloc(), in known places:
 * virtual memory management, arrays, memory of another process.
 *
 * Run it with devices of 16 MiB (SIM_DEVICE=memory_mib=16). In order: an array of 1 MiB (leaked), a
 * request for an array of 64 MiB that fails; segments of 4 and 2 MiB that are created, mapped and
 * released (in range virtual; with 1 MiB and the leaked segment the peak: 9 MiB), one of 2 MiB that
 * is released but never unmapped (leaked; in a range of the domain of RMM, an allocator); a request
 * for 32 MiB that fails. Then both segments are unmapped by one call, which frees the first; the
 * second has a reference more, released last. At the end memory of 3 MiB is shared with a second
 * process, which this program starts with the handle as argument; it opens the memory twice and
 * closes it once.
 */
#include "tests/cuda/did.h"

#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define PLACE __attribute__((noinline, visibility("default")))

struct did did;

PLACE void keep_array(void)
{
	CUDA_ARRAY_DESCRIPTOR d = {256, 256, CU_AD_FORMAT_FLOAT, 4};
	CUDA_ARRAY3D_DESCRIPTOR large = {1024, 1024, 16, CU_AD_FORMAT_HALF, 2, 0};
	CUarray array, failed;
	CHECK(cuArrayCreate(&array, &d));
	RIGHT(cuArray3DCreate(&failed, &large) == CUDA_ERROR_OUT_OF_MEMORY);
}

PLACE CUresult segment_create(CUmemGenericAllocationHandle *handle, size_t bytes)
{
	CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUresult result = cuMemCreate(handle, bytes, &properties, 0);
	__asm__ volatile("");
	return result;
}

static void segment_map(CUdeviceptr address, size_t bytes, CUmemGenericAllocationHandle handle)
{
	CHECK(cuMemMap(address, bytes, 0, handle, 0));
	CHECK(cuMemRelease(handle));
}

PLACE void leak_segment(void)
{
	CUmemGenericAllocationHandle handle;
	CUdeviceptr address;
	nvtxDomainHandle_t domain = nvtxDomainCreateA("librmm");
	nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
		.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.messageType = NVTX_MESSAGE_TYPE_ASCII,
		.message = {.ascii = "allocate"}};
	CHECK(cuMemAddressReserve(&address, 2 * MIB, 0, 0, 0));
	nvtxDomainRangePushEx(domain, &attributes);
	CHECK(segment_create(&handle, 2 * MIB));
	nvtxDomainRangePop(domain);
	segment_map(address, 2 * MIB, handle);
	RIGHT(segment_create(&handle, 32 * MIB) == CUDA_ERROR_OUT_OF_MEMORY);
}

PLACE void use_segments(void)
{
	CUmemGenericAllocationHandle first, second;
	CUdeviceptr address;
	nvtxRangePushA("virtual");
	CHECK(cuMemAddressReserve(&address, 8 * MIB, 0, 0, 0));
	CHECK(segment_create(&first, 4 * MIB));
	CHECK(segment_create(&second, 2 * MIB));
	nvtxRangePop();
	segment_map(address, 4 * MIB, first);
	segment_map(address + 4 * MIB, 2 * MIB, second);
	CHECK(cuMemRetainAllocationHandle(&second, (void *)(uintptr_t)(address + 4 * MIB)));
	leak_segment();
	CHECK(cuMemUnmap(address, 6 * MIB));
	CHECK(cuMemRelease(second));
	CHECK(cuMemAddressFree(address, 8 * MIB));
}

PLACE void share(char **argv)
{
	char text[2 * sizeof(CUipcMemHandle) + 1] = "", *arguments[] = {argv[0], text, NULL};
	extern char **environ;
	CUipcMemHandle handle;
	CUdeviceptr address;
	int status = 0;
	pid_t pid;
	CHECK(cuMemAlloc(&address, 3 * MIB));
	CHECK(cuIpcGetMemHandle(&handle, address));
	for (size_t i = 0; i < sizeof(handle); i++)
		snprintf(text + 2 * i, 3, "%02x", ((const unsigned char *)&handle)[i]);
	RIGHT(!posix_spawn(&pid, argv[0], NULL, NULL, arguments, environ));
	RIGHT(waitpid(pid, &status, 0) == pid && !status);
	CHECK(cuMemFree(address));
}

PLACE void open_shared(const char *text)
{
	CUipcMemHandle handle;
	CUdeviceptr first, second;
	for (size_t i = 0; i < sizeof(handle); i++) {
		unsigned byte = 0;
		sscanf(text + 2 * i, "%2x", &byte);
		((unsigned char *)&handle)[i] = (unsigned char)byte;
	}
	CHECK(cuIpcOpenMemHandle(&first, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	CHECK(cuIpcOpenMemHandle(&second, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	CHECK(cuIpcCloseMemHandle(first));
}

int main(int argc, char **argv)
{
	CUcontext context;
	CUdevice device;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	if (argc > 1) {
		open_shared(argv[1]);
		return did.wrong;
	}
	keep_array();
	use_segments();
	share(argv);
	return did_end();
}
