/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_launch.c - code that nvcc generates registers kernels before main, and launches them. A
 * fatbin becomes a module of a context at the first launch from the fatbin in that context.
 */
#include "tests/sim/runtime.h"
#include "impl.h"

#include <cupti_runtime_cbid.h>
#include <generated_cuda_runtime_api_meta.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 8 };

struct fatbin {
	const void *image;
	CUmodule modules[MAX_DEVICES];
};

struct variable {
	const void *host_address;
	const char *name;
	struct fatbin *fatbin;
	struct variable *next;
};

struct kernel {
	const void *host_function;
	const char *name;
	struct fatbin *fatbin;
	CUfunction functions[MAX_DEVICES];
	struct kernel *next;
};

static struct kernel *kernels;
static struct variable *variables;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

SIM_EXPORT void **__cudaRegisterFatBinary(void *image)
{
	struct fatbin *fatbin = calloc(1, sizeof *fatbin);

	if (fatbin)
		fatbin->image = image;
	return (void **)fatbin;
}

SIM_EXPORT void __cudaRegisterFatBinaryEnd(void **fatbin)
{
	(void)fatbin;
}

SIM_EXPORT void __cudaUnregisterFatBinary(void **fatbin)
{
	(void)fatbin; /* kernels stay known: the process is ending */
}

SIM_EXPORT char __cudaInitModule(void **fatbin)
{
	(void)fatbin;
	return 1;
}

SIM_EXPORT void __cudaRegisterVar(void **fatbin, char *host_variable, char *device_address,
	const char *name, int external, size_t bytes, int constant, int global)
{
	struct variable *variable = calloc(1, sizeof *variable);

	(void)device_address, (void)external, (void)bytes, (void)constant, (void)global;
	if (!variable)
		return;
	pthread_mutex_lock(&mutex);
	*variable = (struct variable){host_variable, name, (struct fatbin *)fatbin, variables};
	variables = variable;
	pthread_mutex_unlock(&mutex);
}

SIM_EXPORT void __cudaRegisterManagedVar(void **fatbin, void **host_variable, char *device_address,
	const char *name, int external, size_t bytes, int constant, int global)
{
	(void)fatbin, (void)device_address, (void)name, (void)external, (void)constant,
		(void)global;
	*host_variable = calloc(1, bytes);
}

SIM_EXPORT void __cudaRegisterFunction(void **fatbin, const char *host_function,
	char *device_function, const char *name, int thread_limit, uint3 *thread_id,
	uint3 *block_id, dim3 *block, dim3 *grid, int *warp_size)
{
	struct kernel *kernel = calloc(1, sizeof *kernel);

	(void)device_function, (void)thread_limit, (void)thread_id, (void)block_id;
	(void)block, (void)grid, (void)warp_size;
	if (!kernel)
		return;
	kernel->host_function = host_function;
	kernel->name = name;
	kernel->fatbin = (struct fatbin *)fatbin;
	pthread_mutex_lock(&mutex);
	kernel->next = kernels;
	kernels = kernel;
	pthread_mutex_unlock(&mutex);
}

/* Find a kernel by the host function, or by the handle that __cudaGetKernel returned. */
static struct kernel *find_kernel(const void *host_function)
{
	struct kernel *found;

	pthread_mutex_lock(&mutex);
	for (found = kernels; found; found = found->next)
		if (found->host_function == host_function || found == host_function)
			break;
	pthread_mutex_unlock(&mutex);
	return found;
}

const char *runtime_function_name(const void *host_function)
{
	struct kernel *kernel = find_kernel(host_function);

	return kernel ? kernel->name : NULL;
}

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* Return the fatbin's module in the current context, or NULL if it cannot be loaded. Called with
 * `loading` held. */
static CUmodule load(struct fatbin *fatbin, int device)
{
	CUmodule *module = &fatbin->modules[device];

	if (!*module && driver()->cuModuleLoadData(module, fatbin->image))
		*module = NULL;
	return *module;
}

CUfunction runtime_function(const void *host_function)
{
	struct kernel *kernel = find_kernel(host_function);
	int device = runtime_device();
	CUfunction *function;
	CUmodule module;

	if (!kernel || device >= MAX_DEVICES)
		return NULL;
	function = &kernel->functions[device];
	if (__atomic_load_n(function, __ATOMIC_ACQUIRE))
		return *function;
	pthread_mutex_lock(&loading);
	module = load(kernel->fatbin, device);
	if (module) {
		CUfunction found = NULL;

		if (!driver()->cuModuleGetFunction(&found, module, kernel->name))
			__atomic_store_n(function, found, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&loading);
	return __atomic_load_n(function, __ATOMIC_ACQUIRE);
}

/* ---- variables ---- */

static cudaError_t find_symbol(
	const void *host_address, CUdeviceptr *ret_address, size_t *ret_bytes)
{
	struct variable *variable;
	CUmodule module;

	NEED_CONTEXT();
	pthread_mutex_lock(&mutex);
	for (variable = variables; variable; variable = variable->next)
		if (variable->host_address == host_address)
			break;
	pthread_mutex_unlock(&mutex);
	if (!variable || runtime_device() >= MAX_DEVICES)
		return cudaErrorInvalidSymbol;
	pthread_mutex_lock(&loading);
	module = load(variable->fatbin, runtime_device());
	pthread_mutex_unlock(&loading);
	if (!module || driver()->cuModuleGetGlobal(ret_address, ret_bytes, module, variable->name))
		return cudaErrorInvalidSymbol;
	return cudaSuccess;
}

cudaError_t impl_cudaGetSymbolAddress(void **ret_address, const void *symbol)
{
	size_t bytes;

	return find_symbol(symbol, (CUdeviceptr *)ret_address, &bytes);
}

cudaError_t impl_cudaGetSymbolSize(size_t *ret_bytes, const void *symbol)
{
	CUdeviceptr address;

	return find_symbol(symbol, &address, ret_bytes);
}

cudaError_t impl_cudaMemcpyToSymbol(const void *symbol, const void *source, size_t bytes,
	size_t offset, enum cudaMemcpyKind kind)
{
	CUdeviceptr address = 0;
	size_t room = 0;
	cudaError_t error = find_symbol(symbol, &address, &room);

	if (error != cudaSuccess || offset + bytes > room)
		return error != cudaSuccess ? error : cudaErrorInvalidValue;
	return impl_cudaMemcpy((void *)(uintptr_t)(address + offset), source, bytes, kind);
}

cudaError_t impl_cudaMemcpyFromSymbol(
	void *target, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
	CUdeviceptr address = 0;
	size_t room = 0;
	cudaError_t error = find_symbol(symbol, &address, &room);

	if (error != cudaSuccess || offset + bytes > room)
		return error != cudaSuccess ? error : cudaErrorInvalidValue;
	return impl_cudaMemcpy(target, (const void *)(uintptr_t)(address + offset), bytes, kind);
}

/* ---- launches ---- */

static _Thread_local struct {
	dim3 grid, block;
	size_t shared_bytes;
	void *stream;
} configurations[16];
static _Thread_local unsigned configuration_count;

SIM_EXPORT unsigned __cudaPushCallConfiguration(
	dim3 grid, dim3 block, size_t shared_bytes, void *stream)
{
	if (configuration_count == sizeof configurations / sizeof *configurations)
		return 1;
	configurations[configuration_count].grid = grid;
	configurations[configuration_count].block = block;
	configurations[configuration_count].shared_bytes = shared_bytes;
	configurations[configuration_count++].stream = stream;
	return 0;
}

SIM_EXPORT cudaError_t __cudaPopCallConfiguration(
	dim3 *ret_grid, dim3 *ret_block, size_t *ret_shared_bytes, void *ret_stream)
{
	if (!configuration_count)
		return cudaErrorMissingConfiguration;
	configuration_count--;
	*ret_grid = configurations[configuration_count].grid;
	*ret_block = configurations[configuration_count].block;
	*ret_shared_bytes = configurations[configuration_count].shared_bytes;
	*(void **)ret_stream = configurations[configuration_count].stream;
	return cudaSuccess;
}

SIM_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *ret_kernel, const void *host_function)
{
	*ret_kernel = (cudaKernel_t)find_kernel(host_function);
	return *ret_kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t impl_cudaLaunchKernel(const void *host_function, dim3 grid, dim3 block,
	void **arguments, size_t shared_bytes, cudaStream_t stream)
{
	CUfunction function;

	NEED_CONTEXT();
	function = runtime_function(host_function);
	if (!function)
		return cudaErrorInvalidDeviceFunction;
	return runtime_error(driver()->cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x,
		block.y, block.z, (unsigned)shared_bytes, stream, arguments, NULL));
}

cudaError_t impl_cudaLaunchCooperativeKernel(const void *host_function, dim3 grid, dim3 block,
	void **arguments, size_t shared_bytes, cudaStream_t stream)
{
	CUfunction function;

	NEED_CONTEXT();
	function = runtime_function(host_function);
	if (!function)
		return cudaErrorInvalidDeviceFunction;
	return runtime_error(driver()->cuLaunchCooperativeKernel(function, grid.x, grid.y, grid.z,
		block.x, block.y, block.z, (unsigned)shared_bytes, stream, arguments));
}

cudaError_t impl_cudaLaunchKernelExC(
	const cudaLaunchConfig_t *config, const void *host_function, void **arguments)
{
	CUlaunchConfig own = {.gridDimX = config->gridDim.x,
		.gridDimY = config->gridDim.y,
		.gridDimZ = config->gridDim.z,
		.blockDimX = config->blockDim.x,
		.blockDimY = config->blockDim.y,
		.blockDimZ = config->blockDim.z,
		.sharedMemBytes = (unsigned)config->dynamicSmemBytes,
		.hStream = config->stream,
		.attrs = (CUlaunchAttribute *)config->attrs, /* one layout */
		.numAttrs = config->numAttrs};
	CUfunction function;

	NEED_CONTEXT();
	function = runtime_function(host_function);
	if (!function)
		return cudaErrorInvalidDeviceFunction;
	return runtime_error(driver()->cuLaunchKernelEx(&own, function, arguments, NULL));
}

/* nvcc 13 launches by __cudaLaunchKernel; which callback id a real runtime reports for it is an
 * option. */
static cudaError_t runtime_launch(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
	size_t shared_bytes, cudaStream_t stream)
{
	cudaLaunchKernel_v7000_params params = {
		kernel, grid, block, arguments, shared_bytes, stream};
	struct sim_call call = {.domain = SIM_RUNTIME_API,
		.cbid = (uint32_t)runtime_option(SIM_OPTION_launch_cbid),
		.name = "cudaLaunchKernel_v7000",
		.plain_name = "cudaLaunchKernel",
		.params = &params,
		.symbol = runtime_function_name(kernel)};

	if (call.cbid == CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000) {
		call.name = "__cudaLaunchKernel_v13000";
		call.plain_name = "__cudaLaunchKernel";
	}
	sim_enter(&call);
	return (cudaError_t)sim_leave(
		&call, impl_cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream));
}

SIM_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
	void **arguments, size_t shared_bytes, cudaStream_t stream)
{
	return runtime_launch(kernel, grid, block, arguments, shared_bytes, stream);
}

SIM_EXPORT cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block,
	void **arguments, size_t shared_bytes, cudaStream_t stream)
{
	return runtime_launch(kernel, grid, block, arguments, shared_bytes, stream);
}

/* ---- functions ---- */

cudaError_t impl_cudaFuncGetName(const char **ret_name, const void *host_function)
{
	*ret_name = runtime_function_name(host_function);
	return *ret_name ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t impl_cudaFuncSetCacheConfig(const void *host_function, enum cudaFuncCache config)
{
	(void)config;
	return runtime_function_name(host_function) ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t impl_cudaFuncGetAttributes(
	struct cudaFuncAttributes *ret_attributes, const void *host_function)
{
	CUfunction function;

	NEED_CONTEXT();
	function = runtime_function(host_function);
	if (!function)
		return cudaErrorInvalidDeviceFunction;
	memset(ret_attributes, 0, sizeof *ret_attributes);
	driver()->cuFuncGetAttribute(&ret_attributes->maxThreadsPerBlock,
		CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
	driver()->cuFuncGetAttribute(
		&ret_attributes->numRegs, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
	return cudaSuccess;
}

cudaError_t impl_cudaFuncSetAttribute(
	const void *host_function, enum cudaFuncAttribute attribute, int value)
{
	(void)attribute, (void)value;
	NEED_CONTEXT();
	return runtime_function(host_function) ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t impl_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret_blocks,
	const void *host_function, int block_size, size_t shared_bytes, unsigned int flags)
{
	CUfunction function;

	(void)flags;
	NEED_CONTEXT();
	function = runtime_function(host_function);
	if (!function)
		return cudaErrorInvalidDeviceFunction;
	return runtime_error(driver()->cuOccupancyMaxActiveBlocksPerMultiprocessor(
		ret_blocks, function, block_size, shared_bytes));
}

cudaError_t impl_cudaOccupancyMaxActiveBlocksPerMultiprocessor(
	int *ret_blocks, const void *host_function, int block_size, size_t shared_bytes)
{
	return impl_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
		ret_blocks, host_function, block_size, shared_bytes, 0);
}
