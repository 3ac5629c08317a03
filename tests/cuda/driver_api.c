/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver_api.c - uses only the driver API, with a kernel in PTX text: cuLaunchKernel,
 * cuLaunchKernelEx.
 *
 * Usage: driver_api [LAUNCHES=10]
 */
#include "tests/cuda/did.h"
#include "tests/sim/kernel.h"

#include <cuda.h>

struct did did;

/* increment(unsigned *values, unsigned count): adds one to each value */
static const char ptx[] = "//\n"
			  ".version 7.0\n"
			  ".target sm_75\n"
			  ".address_size 64\n"
			  ".visible .entry increment(.param .u64 values, .param .u32 count)\n"
			  "{\n"
			  "  .reg .pred %p<2>;\n"
			  "  .reg .b32 %r<7>;\n"
			  "  .reg .b64 %rd<4>;\n"
			  "  ld.param.u64 %rd1, [values];\n"
			  "  ld.param.u32 %r1, [count];\n"
			  "  mov.u32 %r2, %ctaid.x;\n"
			  "  mov.u32 %r3, %ntid.x;\n"
			  "  mov.u32 %r4, %tid.x;\n"
			  "  mad.lo.s32 %r5, %r2, %r3, %r4;\n"
			  "  setp.ge.u32 %p1, %r5, %r1;\n"
			  "  @%p1 bra END;\n"
			  "  cvta.to.global.u64 %rd2, %rd1;\n"
			  "  mul.wide.u32 %rd3, %r5, 4;\n"
			  "  add.s64 %rd2, %rd2, %rd3;\n"
			  "  ld.global.u32 %r6, [%rd2];\n"
			  "  add.u32 %r6, %r6, 1;\n"
			  "  st.global.u32 [%rd2], %r6;\n"
			  "END:\n"
			  "  ret;\n"
			  "}\n";

/* The same kernel for the simulated device. */
static void emulate(const uint32_t grid[3], const uint32_t block[3], void **arguments)
{
	unsigned *values = *(unsigned **)arguments[0];
	unsigned count = *(unsigned *)arguments[1];

	for (unsigned i = 0; i < count && i < grid[0] * block[0]; i++)
		values[i]++;
}
__attribute__((visibility("default")))
const struct sim_kernel sim_kernel_increment = {emulate, {8, 4}};

enum { COUNT = 1000 };

static void launch(CUfunction function, CUdeviceptr values, CUstream stream, int times)
{
	unsigned count = COUNT;
	void *arguments[] = {&values, &count};
	CUlaunchConfig config = {.gridDimX = 4,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 256,
		.blockDimY = 1,
		.blockDimZ = 1,
		.hStream = stream};

	for (int i = 0; i < times; i++) {
		if (i % 2)
			CHECK(cuLaunchKernelEx(&config, function, arguments, NULL));
		else
			CHECK(cuLaunchKernel(
				function, 4, 1, 1, 256, 1, 1, 0, stream, arguments, NULL));
		DID(kernels, 1);
	}
}

/* Run everything on one device. */
static void use_device(CUdevice device, int launches)
{
	static unsigned values[COUNT];
	CUcontext context;
	CUmodule module;
	CUfunction function;
	CUdeviceptr on_device;
	CUstream stream;

	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxPushCurrent(context));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&function, module, "increment"));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&on_device, sizeof values));
	CHECK(cuMemsetD32Async(on_device, 7, COUNT, stream));
	DID(sets, 1);
	launch(function, on_device, stream, launches);
	CHECK(cuMemcpyDtoHAsync(values, on_device, sizeof values, stream));
	DID(copies_dtoh, 1);
	CHECK(cuStreamSynchronize(stream));
	DID(syncs, 1);
	for (int i = 0; i < COUNT; i++)
		if (values[i] != 7u + (unsigned)launches) {
			RIGHT(!"values");
			break;
		}
	CHECK(cuMemFree(on_device));
	CHECK(cuStreamDestroy(stream));
	CHECK(cuModuleUnload(module));
	CHECK(cuCtxPopCurrent(NULL));
	CHECK(cuDevicePrimaryCtxRelease(device));
}

int main(int argc, char **argv)
{
	int launches = argc > 1 ? atoi(argv[1]) : 10;
	CUfunction none = NULL;
	int devices;

	CHECK(cuInit(0));
	CHECK(cuDeviceGetCount(&devices));
	for (int i = 0; i < devices && i < 2; i++)
		use_device(i, launches);
	RIGHT(cuLaunchKernel(none, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) != CUDA_SUCCESS);
	return did_end();
}
