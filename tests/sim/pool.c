/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - memory pools and stream-ordered allocation.
 */
#include "tests/sim/driver.h"
#include "impl.h"

#include <cupti_activity.h>
#include <stdlib.h>

struct CUmemPoolHandle_st {
	struct sim_device *device;
	uint64_t threshold_bytes;
	int64_t used_bytes;
	uint64_t reserved_bytes; /* held by the pool, used or not */
};

#define GRANULE ((uint64_t)2 << 20) /* bytes by which pools grow */

static uint64_t used_bytes(CUmemoryPool pool)
{
	return (uint64_t)__atomic_load_n(&pool->used_bytes, __ATOMIC_RELAXED);
}

static void log_pool(CUmemoryPool pool, uint8_t operation, uint64_t keep_bytes)
{
	struct sim_op op = {.kind = SIM_POOL,
		.start_ns = sim_now_ns(),
		.device = pool->device->facts.ordinal,
		.correlation = sim_correlation(),
		.pool = {.operation = operation,
			.address = (uint64_t)(uintptr_t)pool,
			.bytes = pool->reserved_bytes,
			.used_bytes = used_bytes(pool),
			.threshold_bytes = pool->threshold_bytes,
			.keep_bytes = keep_bytes}};

	op.end_ns = op.start_ns;
	sim_log_op(&op);
}

/* Hold whole granules for what is used, and no more unused memory than `unused_bytes` allow. */
static void pool_keep(CUmemoryPool pool, uint64_t unused_bytes)
{
	uint64_t needed = (used_bytes(pool) + GRANULE - 1) / GRANULE * GRANULE;
	uint64_t held = pool->reserved_bytes < unused_bytes ? pool->reserved_bytes : unused_bytes;

	pool->reserved_bytes = held > needed ? held : needed;
}

void pool_use(CUmemoryPool pool, int64_t bytes)
{
	if (!pool)
		return;
	__atomic_fetch_add(&pool->used_bytes, bytes, __ATOMIC_RELAXED);
	pool_keep(pool, bytes > 0 ? pool->reserved_bytes : pool->threshold_bytes);
}

void pool_describe(CUmemoryPool pool, struct sim_op *op)
{
	if (!pool)
		return;
	op->memory.pool_address = (uint64_t)(uintptr_t)pool;
	op->memory.pool_bytes = pool->reserved_bytes;
	op->memory.pool_used_bytes = used_bytes(pool);
	op->memory.pool_threshold_bytes = pool->threshold_bytes;
}

static CUmemoryPool pool_new(struct sim_device *device)
{
	CUmemoryPool pool = calloc(1, sizeof *pool);

	if (!pool)
		return NULL;
	pool->device = device;
	log_pool(pool, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED, 0);
	return pool;
}

static CUmemoryPool default_pool(struct sim_device *device)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&mutex);
	if (!device->default_pool)
		device->default_pool = device->current_pool = pool_new(device);
	pthread_mutex_unlock(&mutex);
	return device->default_pool;
}

CUresult impl_cuMemPoolCreate(CUmemoryPool *ret_pool, const CUmemPoolProps *properties)
{
	struct sim_device *device = sim_device(properties->location.id);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*ret_pool = pool_new(device);
	return *ret_pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult impl_cuMemPoolDestroy(CUmemoryPool pool)
{
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	log_pool(pool, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED, 0);
	free(pool);
	return CUDA_SUCCESS;
}

CUresult impl_cuMemPoolTrimTo(CUmemoryPool pool, size_t keep_bytes)
{
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	pool_keep(pool, keep_bytes);
	log_pool(pool, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED, keep_bytes);
	return CUDA_SUCCESS;
}

CUresult impl_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		pool->threshold_bytes = *(cuuint64_t *)value;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemPoolGetAttribute(
	CUmemoryPool pool, CUmemPool_attribute attribute, void *ret_value)
{
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	*(cuuint64_t *)ret_value = attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
		? pool->threshold_bytes
		: used_bytes(pool);
	return CUDA_SUCCESS;
}

CUresult impl_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
	return pool && access && count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuDeviceGetDefaultMemPool(CUmemoryPool *ret_pool, CUdevice ordinal)
{
	struct sim_device *device = sim_device(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*ret_pool = default_pool(device);
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetMemPool(CUmemoryPool *ret_pool, CUdevice ordinal)
{
	CUresult result = impl_cuDeviceGetDefaultMemPool(ret_pool, ordinal);

	if (!result)
		*ret_pool = sim_device(ordinal)->current_pool;
	return result;
}

CUresult impl_cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool pool)
{
	if (!sim_device(ordinal) || !pool)
		return CUDA_ERROR_INVALID_VALUE;
	default_pool(sim_device(ordinal));
	sim_device(ordinal)->current_pool = pool;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemAllocFromPoolAsync(
	CUdeviceptr *ret_address, size_t bytes, CUmemoryPool pool, CUstream handle)
{
	CUstream stream = stream_of(handle);

	if (!stream || !pool || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->capture)
		return graph_capture_alloc(stream, ret_address, bytes);
	*ret_address = memory_take(bytes, MEMORY_DEVICE, pool, stream);
	return *ret_address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult impl_cuMemAllocAsync(CUdeviceptr *ret_address, size_t bytes, CUstream handle)
{
	CUstream stream = stream_of(handle);
	CUmemoryPool pool;

	if (!stream)
		return CUDA_ERROR_INVALID_CONTEXT;
	default_pool(stream->context->device);
	pool = stream->context->device->current_pool;
	return impl_cuMemAllocFromPoolAsync(ret_address, bytes, pool, handle);
}

CUresult impl_cuMemFreeAsync(CUdeviceptr address, CUstream handle)
{
	CUstream stream = stream_of(handle);

	if (!stream)
		return CUDA_ERROR_INVALID_CONTEXT;
	return stream->capture ? graph_capture_free(stream, address)
			       : memory_give_back((uintptr_t)address, true, stream);
}
