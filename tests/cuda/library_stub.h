/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library_stub.h - what the stand-ins for CUDA's libraries share: they launch kernels that do
 * nothing, in place of computing.
 */
#ifndef LIBRARY_STUB_H
#define LIBRARY_STUB_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define STUB_KERNEL "stub_kernel"

/* Launch so many kernels in the default stream. The first call of a library loads its module. */
static inline void stub_launch(unsigned kernels)
{
	static const char ptx[] =
		"//\n.version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry " STUB_KERNEL "(.param .u32 count)\n{\n  ret;\n}\n";
	static CUfunction function;
	unsigned count = 1;
	void *arguments[] = {&count};
	CUcontext context;
	CUmodule module;
	if (!function &&
		(cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxPushCurrent(context) ||
			cuModuleLoadData(&module, ptx) ||
			cuModuleGetFunction(&function, module, STUB_KERNEL)))
		abort();
	for (unsigned i = 0; i < kernels; i++)
		if (cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL))
			abort();
}

#endif
