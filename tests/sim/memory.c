/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - memory of host and device: both are host memory, distinguished by a list of
 * allocations.
 */
#include "tests/sim/driver.h"
#include "impl.h"

#include <cupti_activity.h>
#include <stdlib.h>
#include <string.h>

static struct allocation *allocations;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

struct allocation *memory_find(uintptr_t address)
{
	struct allocation *found;

	pthread_mutex_lock(&mutex);
	for (found = allocations; found; found = found->next)
		if (address >= found->address && address < found->address + found->bytes)
			break;
	pthread_mutex_unlock(&mutex);
	return found;
}

int memory_kind_of(uintptr_t address)
{
	struct allocation *found = memory_find(address);

	return found ? found->kind : MEMORY_PAGEABLE;
}

/* Write the record of an allocation or release. */
static void log_memory(
	const struct allocation *allocation, uint8_t operation, bool async, CUstream stream)
{
	struct sim_op op = {
		.kind = SIM_MEMORY, .start_ns = sim_now_ns(), .correlation = sim_correlation()};

	if (!allocation->context)
		return;
	op.end_ns = op.start_ns;
	op.device = allocation->context->device->facts.ordinal;
	op.context = allocation->context->id;
	op.stream = stream ? stream->id : 0;
	op.memory.operation = operation;
	op.memory.memory_kind = (uint8_t)allocation->kind;
	op.memory.async = async;
	op.memory.address = allocation->address;
	op.memory.bytes = allocation->bytes;
	op.memory.used_bytes =
		__atomic_load_n(&allocation->context->device->used_bytes, __ATOMIC_RELAXED);
	op.memory.pc =
		(uint64_t)(uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0));
	pool_describe(allocation->pool, &op);
	sim_log_op(&op);
}

void memory_list_add(struct allocation *allocation)
{
	pthread_mutex_lock(&mutex);
	allocation->next = allocations;
	allocations = allocation;
	pthread_mutex_unlock(&mutex);
}

static struct allocation *list_remove(uintptr_t address)
{
	struct allocation *found = NULL;

	pthread_mutex_lock(&mutex);
	for (struct allocation **at = &allocations; *at; at = &(*at)->next) {
		if ((*at)->address != address)
			continue;
		found = *at;
		*at = found->next;
		break;
	}
	pthread_mutex_unlock(&mutex);
	return found;
}

static bool is_on_device(int kind)
{
	return kind == MEMORY_DEVICE || kind == MEMORY_ARRAY;
}

bool memory_count(struct sim_device *device, size_t bytes)
{
	uint64_t used = __atomic_load_n(&device->used_bytes, __ATOMIC_RELAXED);

	if (used > device->facts.memory_bytes || bytes > device->facts.memory_bytes - used)
		return false;
	__atomic_fetch_add(&device->used_bytes, bytes, __ATOMIC_RELAXED);
	return true;
}

void memory_uncount(struct sim_device *device, size_t bytes)
{
	__atomic_fetch_sub(&device->used_bytes, bytes, __ATOMIC_RELAXED);
}

/* Count memory of the kind, if its device has room for it. */
static bool count_bytes(CUcontext context, size_t bytes, int kind)
{
	if (!context)
		return true;
	if (is_on_device(kind))
		return memory_count(context->device, bytes);
	return bytes <= context->device->facts.memory_bytes;
}

static void uncount_bytes(CUcontext context, size_t bytes, int kind)
{
	if (context && is_on_device(kind))
		memory_uncount(context->device, bytes);
}

uintptr_t memory_take(size_t bytes, int kind, CUmemoryPool pool, CUstream stream)
{
	struct allocation *allocation = calloc(1, sizeof *allocation);
	void *memory = NULL;

	if (!count_bytes(driver_context(), bytes, kind)) {
		free(allocation);
		return 0;
	}
	if (!allocation || posix_memalign(&memory, 512, bytes ? bytes : 1)) {
		uncount_bytes(driver_context(), bytes, kind);
		free(allocation);
		return 0;
	}
	*allocation = (struct allocation){.address = (uintptr_t)memory,
		.bytes = bytes,
		.kind = kind,
		.context = driver_context(),
		.pool = pool};
	memory_list_add(allocation);
	pool_use(pool, (int64_t)bytes);
	log_memory(
		allocation, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, pool != NULL, stream);
	return (uintptr_t)memory;
}

CUresult memory_give_back(uintptr_t address, bool async, CUstream stream)
{
	struct allocation *allocation;

	if (!address)
		return CUDA_SUCCESS;
	allocation = memory_find(address);
	if (allocation && allocation->of_graph)
		return graph_memory_give_back(address, NULL);
	allocation = list_remove(address);
	if (!allocation)
		return CUDA_ERROR_INVALID_VALUE;
	uncount_bytes(allocation->context, allocation->bytes, allocation->kind);
	pool_use(allocation->pool, -(int64_t)allocation->bytes);
	log_memory(allocation, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, async, stream);
	if (!allocation->registered)
		free((void *)address);
	free(allocation);
	return CUDA_SUCCESS;
}

/* ---- unified memory ---- */

#define UNIFIED_BLOCK 65536u /* bytes that one fault moves */

/* Report a migration, or faults of the device. */
static void log_unified(CUstream stream, uint8_t counter, const struct allocation *allocation,
	uint64_t start_ns, uint64_t value, uint32_t flags)
{
	uint32_t device = stream->context->device->facts.ordinal;
	bool to_device = counter == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD;
	struct sim_op op = {.kind = SIM_UNIFIED,
		.start_ns = start_ns,
		.end_ns = start_ns + copy_duration_ns(value, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD),
		.device = device,
		.context = stream->context->id,
		.stream = stream->id,
		.unified = {.counter = counter,
			.value = value,
			.address = allocation->address,
			.source = to_device ? UINT32_MAX : device,
			.target = to_device ? device : UINT32_MAX,
			.flags = flags}};

	sim_log_op(&op);
}

/* Return the next managed allocation of the context that is not on its device yet, and mark it as
 * being there. Return NULL if all are. */
static struct allocation *next_to_migrate(CUcontext context)
{
	struct allocation *found;

	pthread_mutex_lock(&mutex);
	for (found = allocations; found; found = found->next)
		if (found->kind == MEMORY_MANAGED && !found->on_device && found->context == context)
			break;
	if (found)
		found->on_device = true;
	pthread_mutex_unlock(&mutex);
	return found;
}

void memory_migrate_for_kernel(CUcontext context, CUstream stream, uint64_t when_ns)
{
	struct allocation *found;

	while ((found = next_to_migrate(context))) {
		log_unified(stream, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
			found, when_ns, (found->bytes + UNIFIED_BLOCK - 1) / UNIFIED_BLOCK,
			CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_WRITE);
		log_unified(stream, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
			found, when_ns, found->bytes,
			CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE);
	}
}

/* Report a fault for each block, at the instruction with which the program touches the memory. */
static void log_cpu_faults(const struct allocation *allocation, const void *instruction)
{
	struct sim_op op = {.kind = SIM_UNIFIED,
		.start_ns = sim_now_ns(),
		.context = allocation->context->id,
		.device = allocation->context->device->facts.ordinal,
		.unified = {
			.counter = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
			.value = (uint64_t)(uintptr_t)instruction}};

	op.end_ns = op.start_ns;
	for (size_t at = 0; at < allocation->bytes; at += UNIFIED_BLOCK) {
		op.unified.address = allocation->address + at;
		sim_log_op(&op);
	}
}

SIM_EXPORT void sim_host_touched(const void *address);

/* Move managed memory back to the host; programs call this through tests/sim/kernel.h. */
void sim_host_touched(const void *address)
{
	struct allocation *allocation = memory_find((uintptr_t)address);

	if (!allocation || allocation->kind != MEMORY_MANAGED || !allocation->on_device)
		return;
	allocation->on_device = false;
	log_cpu_faults(allocation, __builtin_extract_return_addr(__builtin_return_address(0)));
	log_unified(&allocation->context->null_stream,
		CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH, allocation,
		sim_now_ns(), allocation->bytes,
		CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE);
}

CUresult impl_cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location,
	unsigned int flags, CUstream handle)
{
	CUstream stream = stream_of(handle);
	struct allocation *allocation = memory_find((uintptr_t)address);
	bool to_device = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
	struct sim_op place = {.kind = SIM_UNIFIED};

	(void)flags;
	if (!stream || !allocation || allocation->kind != MEMORY_MANAGED ||
		bytes > allocation->bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (allocation->on_device == to_device)
		return CUDA_SUCCESS;
	allocation->on_device = to_device;
	stream_enqueue(stream, &place, copy_duration_ns(bytes, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD));
	log_unified(stream,
		to_device ? CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD
			  : CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
		allocation, place.start_ns, bytes,
		CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_PREFETCH);
	return CUDA_SUCCESS;
}

CUresult impl_cuMemAdvise_v2(
	CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location)
{
	(void)advice, (void)location;
	return memory_find((uintptr_t)address) && bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- the API ---- */

static CUresult take(CUdeviceptr *ret_address, size_t bytes, int kind)
{
	if (!driver_context())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_address = memory_take(bytes, kind, NULL, NULL);
	return *ret_address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult impl_cuMemAlloc_v2(CUdeviceptr *ret_address, size_t bytes)
{
	return take(ret_address, bytes, MEMORY_DEVICE);
}

CUresult impl_cuMemAllocPitch_v2(CUdeviceptr *ret_address, size_t *ret_pitch, size_t width_bytes,
	size_t height, unsigned int element_bytes)
{
	(void)element_bytes;
	*ret_pitch = (width_bytes + 511) & ~(size_t)511;
	return take(ret_address, *ret_pitch * height, MEMORY_DEVICE);
}

CUresult impl_cuMemAllocManaged(CUdeviceptr *ret_address, size_t bytes, unsigned int flags)
{
	(void)flags;
	return take(ret_address, bytes, MEMORY_MANAGED);
}

CUresult impl_cuMemFree_v2(CUdeviceptr address)
{
	return memory_give_back((uintptr_t)address, false, NULL);
}

CUresult impl_cuMemHostAlloc(void **ret_address, size_t bytes, unsigned int flags)
{
	CUdeviceptr address = 0;
	CUresult result = take(&address, bytes, MEMORY_PINNED);

	(void)flags;
	if (!result)
		*ret_address = (void *)(uintptr_t)address;
	return result;
}

CUresult impl_cuMemAllocHost_v2(void **ret_address, size_t bytes)
{
	return impl_cuMemHostAlloc(ret_address, bytes, 0);
}

CUresult impl_cuMemFreeHost(void *address)
{
	return memory_give_back((uintptr_t)address, false, NULL);
}

CUresult impl_cuMemHostRegister_v2(void *address, size_t bytes, unsigned int flags)
{
	struct allocation *allocation;

	(void)flags;
	if (!driver_context() || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	allocation = calloc(1, sizeof *allocation);
	if (!allocation)
		return CUDA_ERROR_OUT_OF_MEMORY;
	allocation->address = (uintptr_t)address;
	allocation->bytes = bytes;
	allocation->kind = MEMORY_PINNED;
	allocation->registered = true;
	memory_list_add(allocation);
	return CUDA_SUCCESS;
}

CUresult impl_cuMemHostUnregister(void *address)
{
	return memory_give_back((uintptr_t)address, false, NULL);
}

CUresult impl_cuMemHostGetDevicePointer_v2(
	CUdeviceptr *ret_address, void *address, unsigned int flags)
{
	(void)flags;
	*ret_address = (CUdeviceptr)(uintptr_t)address;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total)
{
	CUcontext context = driver_context();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_total = context->device->facts.memory_bytes;
	*ret_free = *ret_total - __atomic_load_n(&context->device->used_bytes, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

CUresult impl_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
	struct allocation *allocation = memory_find((uintptr_t)address);

	if (!allocation)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)data = allocation->kind == MEMORY_PINNED ? CU_MEMORYTYPE_HOST
								      : CU_MEMORYTYPE_DEVICE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(bool *)data = allocation->kind == MEMORY_MANAGED;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data =
			allocation->context ? (int)allocation->context->device->facts.ordinal : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = allocation->context;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}
