/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.c - runtime functions that open the driver, and functions of devices and errors.
 */
#include "tests/sim/runtime.h"
#include "impl.h"

#include <cupti_runtime_cbid.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct driver_functions functions;
static const struct sim_driver *table;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_once_t init_once = PTHREAD_ONCE_INIT;
static CUresult init_result;
static _Thread_local int device;
static _Thread_local cudaError_t last_error;
static _Thread_local CUcontext current;

static void open_driver(void)
{
	static const CUuuid uuid = SIM_DRIVER_UUID;
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library)
		return;
#define STRING(name) #name
#define X(name)                                                   \
	*(void **)&functions.name = dlsym(library, STRING(name)); \
	if (!functions.name)                                      \
		return;
#include "tests/sim/driver_functions.def"
#undef X
	if (functions.cuGetExportTable((const void **)&table, &uuid))
		table = NULL; /* a real driver: this runtime cannot use it */
}

const struct driver_functions *driver(void)
{
	pthread_once(&once, open_driver);
	return table ? &functions : NULL;
}

void sim_enter(struct sim_call *call)
{
	if (!driver())
		return;
	if (call->cbid == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000 && !call->symbol)
		call->symbol = runtime_function_name(
			*(const void **)call->params); /* the first field of the parameters */
	table->enter(call);
}

uint32_t sim_leave(struct sim_call *call, uint32_t result)
{
	bool keeps_error = call->cbid == CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020 ||
		call->cbid == CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020;

	if (!table)
		result = cudaErrorInsufficientDriver;
	else
		result = table->leave(call, result);
	if (result != cudaSuccess && result != cudaErrorNotReady && !keeps_error)
		last_error = (cudaError_t)result;
	return result;
}

cudaError_t runtime_error(CUresult result)
{
	return (cudaError_t)result; /* both enumerations use the same numbers since CUDA 10.1 */
}

static void initialize(void)
{
	init_result = driver()->cuInit(0);
}

static cudaError_t initialized(void)
{
	if (!driver())
		return cudaErrorInsufficientDriver;
	pthread_once(&init_once, initialize);
	return runtime_error(init_result);
}

cudaError_t runtime_ready(void)
{
	cudaError_t error;

	if (current)
		return cudaSuccess;
	error = initialized();
	if (error == cudaSuccess)
		error = runtime_error(driver()->cuDevicePrimaryCtxRetain(&current, device));
	if (error == cudaSuccess)
		error = runtime_error(driver()->cuCtxSetCurrent(current));
	return error;
}

uint64_t runtime_option(enum sim_option option)
{
	return driver() ? table->option(option) : 0;
}

int runtime_device(void)
{
	return device;
}

/* ---- devices ---- */

cudaError_t impl_cudaGetDeviceCount(int *ret_count)
{
	cudaError_t error = initialized();

	return error != cudaSuccess ? error : runtime_error(driver()->cuDeviceGetCount(ret_count));
}

cudaError_t impl_cudaGetDevice(int *ret_device)
{
	*ret_device = device;
	return cudaSuccess;
}

cudaError_t impl_cudaSetDevice(int wanted)
{
	int count = 0;
	cudaError_t error = impl_cudaGetDeviceCount(&count);

	if (error != cudaSuccess)
		return error;
	if (wanted < 0 || wanted >= count)
		return cudaErrorInvalidDevice;
	if (wanted != device)
		current = NULL;
	device = wanted;
	return runtime_ready();
}

cudaError_t impl_cudaDeviceReset(void)
{
	NEED_CONTEXT();
	current = NULL;
	return runtime_error(driver()->cuDevicePrimaryCtxReset(device));
}

cudaError_t impl_cudaRuntimeGetVersion(int *ret_version)
{
	*ret_version = CUDART_VERSION;
	return cudaSuccess;
}

cudaError_t impl_cudaDriverGetVersion(int *ret_version)
{
	return driver() ? runtime_error(driver()->cuDriverGetVersion(ret_version))
			: cudaErrorInsufficientDriver;
}

cudaError_t impl_cudaDeviceGetAttribute(int *ret_value, enum cudaDeviceAttr attribute, int which)
{
	cudaError_t error = initialized();

	if (error != cudaSuccess)
		return error;
	return runtime_error(
		driver()->cuDeviceGetAttribute(ret_value, (CUdevice_attribute)attribute, which));
}

static int attribute(CUdevice_attribute which, int of)
{
	int value = 0;

	driver()->cuDeviceGetAttribute(&value, which, of);
	return value;
}

cudaError_t impl_cudaGetDeviceProperties(struct cudaDeviceProp *ret_facts, int which)
{
	cudaError_t error = initialized();
	CUuuid uuid;

	if (error != cudaSuccess)
		return error;
	memset(ret_facts, 0, sizeof *ret_facts);
	error = runtime_error(
		driver()->cuDeviceGetName(ret_facts->name, sizeof ret_facts->name, which));
	if (error != cudaSuccess)
		return error;
	driver()->cuDeviceGetUuid(&uuid, which);
	memcpy(&ret_facts->uuid, &uuid, sizeof uuid);
	driver()->cuDeviceTotalMem(&ret_facts->totalGlobalMem, which);
	ret_facts->major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, which);
	ret_facts->minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, which);
	ret_facts->multiProcessorCount = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, which);
	ret_facts->warpSize = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE, which);
	ret_facts->maxThreadsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, which);
	ret_facts->maxThreadsPerMultiProcessor =
		attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, which);
	ret_facts->sharedMemPerBlock =
		(size_t)attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, which);
	ret_facts->regsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, which);
	ret_facts->l2CacheSize = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, which);
	ret_facts->managedMemory = ret_facts->concurrentKernels = ret_facts->unifiedAddressing = 1;
	ret_facts->memoryPoolsSupported = ret_facts->cooperativeLaunch = 1;
	return cudaSuccess;
}

cudaError_t impl_cudaDeviceGetPCIBusId(char *text, int size, int which)
{
	cudaError_t error = initialized();

	return error != cudaSuccess
		? error
		: runtime_error(driver()->cuDeviceGetPCIBusId(text, size, which));
}

cudaError_t impl_cudaDeviceCanAccessPeer(int *ret_can, int one, int other)
{
	cudaError_t error = initialized();

	return error != cudaSuccess
		? error
		: runtime_error(driver()->cuDeviceCanAccessPeer(ret_can, one, other));
}

cudaError_t impl_cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
	CUcontext context;
	cudaError_t error;

	NEED_CONTEXT();
	error = runtime_error(driver()->cuDevicePrimaryCtxRetain(&context, peer));
	return error != cudaSuccess
		? error
		: runtime_error(driver()->cuCtxEnablePeerAccess(context, flags));
}

cudaError_t impl_cudaDeviceSynchronize(void)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuCtxSynchronize());
}

cudaError_t impl_cudaDeviceGetStreamPriorityRange(int *ret_least, int *ret_greatest)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuCtxGetStreamPriorityRange(ret_least, ret_greatest));
}

cudaError_t impl_cudaProfilerStart(void)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuProfilerStart());
}

cudaError_t impl_cudaProfilerStop(void)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuProfilerStop());
}

cudaError_t impl_cudaInitDevice(int which, unsigned int device_flags, unsigned int flags)
{
	CUcontext context;
	cudaError_t error = initialized();

	(void)device_flags, (void)flags;
	return error != cudaSuccess
		? error
		: runtime_error(driver()->cuDevicePrimaryCtxRetain(&context, which));
}

cudaError_t impl_cudaSetDeviceFlags(unsigned int flags)
{
	cudaError_t error = initialized();

	return error != cudaSuccess
		? error
		: runtime_error(driver()->cuDevicePrimaryCtxSetFlags(device, flags));
}

cudaError_t impl_cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuCtxSetLimit((CUlimit)limit, value));
}

cudaError_t impl_cudaDeviceGetLimit(size_t *ret_value, enum cudaLimit limit)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuCtxGetLimit(ret_value, (CUlimit)limit));
}

cudaError_t impl_cudaGetDriverEntryPointByVersion(const char *name, void **ret_function,
	unsigned int version, unsigned long long flags,
	enum cudaDriverEntryPointQueryResult *ret_status)
{
	if (!driver())
		return cudaErrorInsufficientDriver;
	return runtime_error(driver()->cuGetProcAddress(name, ret_function, (int)version, flags,
		(CUdriverProcAddressQueryResult *)ret_status));
}

cudaError_t impl_cudaGetDriverEntryPoint(const char *name, void **ret_function,
	unsigned long long flags, enum cudaDriverEntryPointQueryResult *ret_status)
{
	return impl_cudaGetDriverEntryPointByVersion(
		name, ret_function, CUDART_VERSION, flags, ret_status);
}

/* ---- errors ---- */

cudaError_t impl_cudaGetLastError(void)
{
	cudaError_t error = last_error;

	last_error = cudaSuccess;
	return error;
}

cudaError_t impl_cudaPeekAtLastError(void)
{
	return last_error;
}

static const struct {
	cudaError_t error;
	const char *name, *text;
} errors[] = {
	{cudaSuccess, "cudaSuccess", "no error"},
	{cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
	{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
	{cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
		"driver is older than the runtime, or missing"},
	{cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
	{cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction",
		"invalid device function"},
	{cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle",
		"invalid resource handle"},
	{cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
	{cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "launch failure"},
	{cudaErrorNotSupported, "cudaErrorNotSupported", "not supported by the simulated device"},
};

SIM_EXPORT const char *cudaGetErrorName(cudaError_t error)
{
	for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].error == error)
			return errors[i].name;
	return "cudaErrorUnknown";
}

SIM_EXPORT const char *cudaGetErrorString(cudaError_t error)
{
	for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].error == error)
			return errors[i].text;
	return "an error of the simulated device";
}
