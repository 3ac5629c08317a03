/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libearly.c - a library to preload: it creates a CUDA context before any other library's
 * constructor runs.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>

#define FUNCTION(library, name, exported) __typeof__(&name) name##_ = dlsym(library, exported)

__attribute__((constructor)) static void begin(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	CUcontext context;

	if (!driver)
		abort();
	FUNCTION(driver, cuInit, "cuInit");
	FUNCTION(driver, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
	if (cuInit_(0) || cuDevicePrimaryCtxRetain_(&context, 0))
		abort();
}
