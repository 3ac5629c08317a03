/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c - devices and contexts, and the exports of libcuda.so.1 besides the API.
 */
#include "tests/sim/driver.h"
#include "tests/sim/truth.h"
#include "impl.h"

#include <cupti_callbacks.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pthread_mutex_t driver_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct sim_device devices[SIM_MAX_DEVICES];
static pthread_once_t init_once = PTHREAD_ONCE_INIT;
static atomic_bool initialized;
static _Atomic uint32_t contexts_made;
static _Thread_local CUcontext thread_context;

static uint32_t device_count(void)
{
	uint64_t wanted = sim_option(SIM_OPTION_devices);

	return wanted < SIM_MAX_DEVICES ? (uint32_t)wanted : SIM_MAX_DEVICES;
}

struct sim_device *sim_device(int ordinal)
{
	return ordinal >= 0 && (uint32_t)ordinal < device_count() ? &devices[ordinal] : NULL;
}

bool driver_initialized(void)
{
	return initialized;
}

CUcontext driver_context(void)
{
	return thread_context;
}

uint32_t driver_contexts_made(void)
{
	return contexts_made;
}

/* Load the library that CUDA_INJECTION64_PATH names, and call its InitializeInjection, as the
 * driver does. */
static void load_injection(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path && *path ? dlopen(path, RTLD_NOW) : NULL;
	int (*start)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;

	if (start)
		start();
}

static void make_devices(void)
{
	for (uint32_t i = 0; i < SIM_MAX_DEVICES; i++) {
		struct sim_device *device = &devices[i];

		snprintf(device->name, sizeof device->name, "Simulated GPU %u", i);
		device->facts = (struct sim_device_facts){.name = device->name,
			.ordinal = i,
			.multiprocessors = 132,
			.major = 9,
			.minor = 0,
			.memory_bytes = sim_option(SIM_OPTION_memory_mib)
				? sim_option(SIM_OPTION_memory_mib) << 20
				: 1ull << 36};
		memcpy(device->facts.uuid, "simulated-gpu-0", 16);
		device->facts.uuid[14] = (uint8_t)('0' + sim_option(SIM_OPTION_first_gpu) + i);
		device->primary.device = device;
		device->primary.primary = true;
	}
}

static void initialize(void)
{
	struct sim_resource resource = {.cbid = CUPTI_CBID_RESOURCE_CU_INIT_FINISHED};

	make_devices();
	load_injection();
	initialized = true;
	sim_log_resource(&resource);
}

CUresult impl_cuInit(unsigned int flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_once(&init_once, initialize);
	return CUDA_SUCCESS;
}

/* ---- contexts ---- */

static void log_context(CUcontext context, uint32_t cbid)
{
	struct sim_resource resource = {.cbid = cbid,
		.context = context,
		.context_id = context->id,
		.device_id = context->device->facts.ordinal,
		.null_stream_id = context->null_stream.id,
		.correlation = sim_correlation()};

	sim_log_resource(&resource);
}

static void start_context(CUcontext context, struct sim_device *device, unsigned flags)
{
	context->id = ++contexts_made;
	context->device = device;
	context->flags = flags;
	context->live = true;
	context->next_stream_id = SIM_FIRST_STREAM_ID;
	context->streams = NULL;
	context->null_stream = (struct CUstream_st){.id = SIM_NULL_STREAM_ID, .context = context};
	log_context(context, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
	context_add_stream(context);
}

static void end_context(CUcontext context)
{
	sim_wait_until(context_busy_until(context));
	log_context(context, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
	context->live = false;
}

CUresult impl_cuDevicePrimaryCtxRetain(CUcontext *ret_context, CUdevice ordinal)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct sim_device *device = sim_device(ordinal);

	if (!initialized)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&mutex);
	if (!device->primary_uses++)
		start_context(&device->primary, device, device->primary.flags);
	pthread_mutex_unlock(&mutex);
	*ret_context = &device->primary;
	return CUDA_SUCCESS;
}

CUresult impl_cuDevicePrimaryCtxRelease_v2(CUdevice ordinal)
{
	struct sim_device *device = sim_device(ordinal);

	if (!device || !device->primary_uses)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!--device->primary_uses)
		end_context(&device->primary);
	return CUDA_SUCCESS;
}

CUresult impl_cuDevicePrimaryCtxReset_v2(CUdevice ordinal)
{
	struct sim_device *device = sim_device(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (device->primary.live)
		end_context(&device->primary);
	device->primary_uses = 0;
	if (thread_context == &device->primary)
		thread_context = NULL;
	return CUDA_SUCCESS;
}

CUresult impl_cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned int *ret_flags, int *ret_active)
{
	struct sim_device *device = sim_device(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*ret_flags = device->primary.flags;
	*ret_active = device->primary.live;
	return CUDA_SUCCESS;
}

CUresult impl_cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned int flags)
{
	struct sim_device *device = sim_device(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	device->primary.flags = flags;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxCreate_v2(CUcontext *ret_context, unsigned int flags, CUdevice ordinal)
{
	struct sim_device *device = sim_device(ordinal);
	CUcontext context;

	if (!initialized)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	context = calloc(1, sizeof *context);
	if (!context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	start_context(context, device, flags);
	context->below = thread_context;
	*ret_context = thread_context = context;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxCreate_v4(
	CUcontext *ret_context, CUctxCreateParams *params, unsigned int flags, CUdevice ordinal)
{
	(void)params;
	return impl_cuCtxCreate_v2(ret_context, flags, ordinal);
}

CUresult impl_cuCtxDestroy_v2(CUcontext context)
{
	if (!context || !context->live || context->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	end_context(context); /* the memory stays allocated: a tool may still look up the context's
				 handles */
	if (thread_context == context)
		thread_context = context->below;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxSetCurrent(CUcontext context)
{
	thread_context = context;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetCurrent(CUcontext *ret_context)
{
	*ret_context = thread_context;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxPushCurrent_v2(CUcontext context)
{
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (context != thread_context)
		context->below = thread_context;
	thread_context = context;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxPopCurrent_v2(CUcontext *ret_context)
{
	if (!thread_context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (ret_context)
		*ret_context = thread_context;
	thread_context = thread_context->below;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetDevice(CUdevice *ret_device)
{
	if (!thread_context)
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_device = (CUdevice)thread_context->device->facts.ordinal;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetDevice_v2(CUdevice *ret_device, CUcontext context)
{
	if (!context)
		return impl_cuCtxGetDevice(ret_device);
	*ret_device = (CUdevice)context->device->facts.ordinal;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetFlags(unsigned int *ret_flags)
{
	if (!thread_context)
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_flags = thread_context->flags;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetApiVersion(CUcontext context, unsigned int *ret_version)
{
	(void)context;
	*ret_version = 3020;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetStreamPriorityRange(int *ret_least, int *ret_greatest)
{
	if (ret_least)
		*ret_least = 0;
	if (ret_greatest)
		*ret_greatest = -5;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxSetLimit(CUlimit limit, size_t value)
{
	(void)limit, (void)value;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetLimit(size_t *ret_value, CUlimit limit)
{
	*ret_value = limit == CU_LIMIT_STACK_SIZE ? 1024 : 8 << 20;
	return CUDA_SUCCESS;
}

/* ---- devices ---- */

CUresult impl_cuDriverGetVersion(int *ret_version)
{
	*ret_version = (int)sim_option(SIM_OPTION_driver_version);
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetCount(int *ret_count)
{
	if (!initialized)
		return CUDA_ERROR_NOT_INITIALIZED;
	*ret_count = (int)device_count();
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGet(CUdevice *ret_device, int ordinal)
{
	if (!initialized)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!sim_device(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*ret_device = ordinal;
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetName(char *name, int size, CUdevice ordinal)
{
	struct sim_device *device = sim_device(ordinal);

	if (!device || size <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(name, (size_t)size, "%s", device->name);
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetUuid_v2(CUuuid *ret_uuid, CUdevice ordinal)
{
	struct sim_device *device = sim_device(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	memcpy(ret_uuid->bytes, device->facts.uuid, sizeof ret_uuid->bytes);
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetUuid(CUuuid *ret_uuid, CUdevice ordinal)
{
	return impl_cuDeviceGetUuid_v2(ret_uuid, ordinal);
}

CUresult impl_cuDeviceTotalMem_v2(size_t *ret_bytes, CUdevice ordinal)
{
	struct sim_device *device = sim_device(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*ret_bytes = device->facts.memory_bytes;
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceComputeCapability(int *ret_major, int *ret_minor, CUdevice ordinal)
{
	struct sim_device *device = sim_device(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*ret_major = (int)device->facts.major;
	*ret_minor = (int)device->facts.minor;
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetPCIBusId(char *text, int size, CUdevice ordinal)
{
	if (!sim_device(ordinal) || size < 13)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(text, (size_t)size, "0000:%02X:00.0", 1 + ordinal);
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceCanAccessPeer(int *ret_can, CUdevice one, CUdevice other)
{
	if (!sim_device(one) || !sim_device(other))
		return CUDA_ERROR_INVALID_DEVICE;
	*ret_can = one != other;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
	return peer && !flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuCtxDisablePeerAccess(CUcontext peer)
{
	return peer ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static const struct {
	CUdevice_attribute attribute;
	int value;
} attributes[] = {
	{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
	{CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
	{CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
	{CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
	{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
	{CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
	{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
	{CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
	{CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
	{CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2619000},
	{CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 5120},
	{CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 52428800},
	{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
	{CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
	{CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
	{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
	{CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
	{CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
	{CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
	{CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
	{CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
};

CUresult impl_cuDeviceGetAttribute(int *ret_value, CUdevice_attribute attribute, CUdevice ordinal)
{
	struct sim_device *device = sim_device(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
		? (int)device->facts.major
		: attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
		? (int)device->facts.minor
		: attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID ? 1 + ordinal
							      : 0;
	for (unsigned i = 0; i < sizeof attributes / sizeof *attributes; i++)
		if (attributes[i].attribute == attribute)
			*ret_value = attributes[i].value;
	return CUDA_SUCCESS;
}

CUresult impl_cuProfilerStart(void)
{
	return CUDA_SUCCESS;
}

CUresult impl_cuProfilerStop(void)
{
	return CUDA_SUCCESS;
}

/* ---- the table for libcudart and libcupti ---- */

static void device_facts(uint32_t ordinal, struct sim_device_facts *ret_facts)
{
	*ret_facts = devices[ordinal].facts;
}

static int32_t device_attribute(uint32_t ordinal, int attribute)
{
	int value = 0;

	impl_cuDeviceGetAttribute(&value, (CUdevice_attribute)attribute, (CUdevice)ordinal);
	return value;
}

static uint32_t context_id(void *context)
{
	return context ? ((CUcontext)context)->id : thread_context ? thread_context->id : 0;
}

static uint32_t context_device(void *context)
{
	CUcontext which = context ? context : thread_context;

	return which ? which->device->facts.ordinal : 0;
}

static uint32_t stream_id(void *context, void *handle, bool per_thread)
{
	CUstream stream = (uintptr_t)handle > 2 ? handle : NULL;
	CUcontext which = context ? context : thread_context;

	(void)per_thread;
	return stream ? stream->id : which ? which->null_stream.id : 0;
}

static const char *function_name(void *function)
{
	return function ? ((CUfunction)function)->name : NULL;
}

static const struct sim_driver driver_table = {.enter = sim_enter,
	.leave = sim_leave,
	.option = sim_option,
	.fault_result = sim_fault_result,
	.now_ns = sim_now_ns,
	.set_tool = sim_set_tool,
	.note_op = truth_op,
	.violation = truth_violation,
	.device_count = device_count,
	.device_facts = device_facts,
	.device_attribute = device_attribute,
	.initialized = driver_initialized,
	.contexts_made = driver_contexts_made,
	.context_id = context_id,
	.context_device = context_device,
	.stream_id = stream_id,
	.graph_id = graph_id_of,
	.graph_exec_id = graph_exec_id_of,
	.graph_node_id = graph_node_id_of,
	.function_name = function_name,
	.set_whole_graphs = graph_log_whole};

SIM_EXPORT CUresult cuGetExportTable(const void **ret_table, const CUuuid *uuid)
{
	static const CUuuid ours = SIM_DRIVER_UUID;

	if (memcmp(uuid, &ours, sizeof ours) != 0)
		return CUDA_ERROR_NOT_SUPPORTED;
	*ret_table = &driver_table;
	return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGetErrorName(CUresult error, const char **ret_name)
{
	*ret_name = error == CUDA_SUCCESS ? "CUDA_SUCCESS" : "CUDA_ERROR";
	return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGetErrorString(CUresult error, const char **ret_text)
{
	*ret_text = error == CUDA_SUCCESS ? "no error" : "error of the simulated device";
	return CUDA_SUCCESS;
}

/* Return the function that had that name in that version of CUDA. */
#undef cuGetProcAddress
SIM_EXPORT CUresult cuGetProcAddress_v2(const char *name, void **ret_function, int version,
	cuuint64_t flags, CUdriverProcAddressQueryResult *ret_status)
{
	const char *symbol = name; /* some functions have no callback id */

	(void)flags;
	for (const struct sim_entry *entry = sim_entries; entry->name; entry++)
		if (!strcmp(entry->name, name) && (entry->version <= version || symbol == name))
			symbol = entry->symbol;
	*ret_function = dlsym(
		RTLD_DEFAULT, strcmp(symbol, "cuGetProcAddress") ? symbol : "cuGetProcAddress_v2");
	if (ret_status)
		*ret_status = *ret_function ? CU_GET_PROC_ADDRESS_SUCCESS
					    : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return *ret_function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
