/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_memory.c - memory functions of the runtime.
 */
#include "tests/sim/runtime.h"
#include "impl.h"

#include <string.h>

static CUdeviceptr device_address(const void *address)
{
	return (CUdeviceptr)(uintptr_t)address;
}

cudaError_t impl_cudaMalloc(void **ret_address, size_t bytes)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuMemAlloc((CUdeviceptr *)ret_address, bytes));
}

cudaError_t impl_cudaMallocPitch(void **ret_address, size_t *ret_pitch, size_t width, size_t height)
{
	NEED_CONTEXT();
	return runtime_error(
		driver()->cuMemAllocPitch((CUdeviceptr *)ret_address, ret_pitch, width, height, 4));
}

cudaError_t impl_cudaMallocManaged(void **ret_address, size_t bytes, unsigned int flags)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuMemAllocManaged((CUdeviceptr *)ret_address, bytes, flags));
}

cudaError_t impl_cudaFree(void *address)
{
	NEED_CONTEXT();
	return address ? runtime_error(driver()->cuMemFree(device_address(address))) : cudaSuccess;
}

cudaError_t impl_cudaHostAlloc(void **ret_address, size_t bytes, unsigned int flags)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuMemHostAlloc(ret_address, bytes, flags));
}

cudaError_t impl_cudaMallocHost(void **ret_address, size_t bytes)
{
	return impl_cudaHostAlloc(ret_address, bytes, 0);
}

cudaError_t impl_cudaFreeHost(void *address)
{
	NEED_CONTEXT();
	return address ? runtime_error(driver()->cuMemFreeHost(address)) : cudaSuccess;
}

cudaError_t impl_cudaHostRegister(void *address, size_t bytes, unsigned int flags)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuMemHostRegister(address, bytes, flags));
}

cudaError_t impl_cudaHostUnregister(void *address)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuMemHostUnregister(address));
}

cudaError_t impl_cudaMemGetInfo(size_t *ret_free, size_t *ret_total)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuMemGetInfo(ret_free, ret_total));
}

cudaError_t impl_cudaPointerGetAttributes(
	struct cudaPointerAttributes *ret_attributes, const void *address)
{
	unsigned type = 0;
	bool managed = false;

	NEED_CONTEXT();
	memset(ret_attributes, 0, sizeof *ret_attributes);
	ret_attributes->device = runtime_device();
	if (driver()->cuPointerGetAttribute(
		    &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device_address(address)))
		return cudaSuccess; /* not CUDA's: cudaMemoryTypeUnregistered */
	driver()->cuPointerGetAttribute(
		&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, device_address(address));
	driver()->cuPointerGetAttribute(&ret_attributes->device,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device_address(address));
	ret_attributes->type = managed       ? cudaMemoryTypeManaged
		: type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost
					     : cudaMemoryTypeDevice;
	ret_attributes->devicePointer = ret_attributes->hostPointer = (void *)(uintptr_t)address;
	return cudaSuccess;
}

cudaError_t impl_cudaMemPrefetchAsync(const void *address, size_t bytes,
	struct cudaMemLocation location, unsigned int flags, cudaStream_t stream)
{
	CUmemLocation where = {.type = (CUmemLocationType)location.type, .id = location.id};

	NEED_CONTEXT();
	return runtime_error(
		driver()->cuMemPrefetchAsync(device_address(address), bytes, where, flags, stream));
}

cudaError_t impl_cudaMemAdvise(const void *address, size_t bytes, enum cudaMemoryAdvise advice,
	struct cudaMemLocation location)
{
	CUmemLocation where = {.type = (CUmemLocationType)location.type, .id = location.id};

	NEED_CONTEXT();
	return runtime_error(
		driver()->cuMemAdvise(device_address(address), bytes, (CUmem_advise)advice, where));
}

/* ---- copies ---- */

cudaError_t impl_cudaMemcpy(
	void *target, const void *source, size_t bytes, enum cudaMemcpyKind kind)
{
	NEED_CONTEXT();
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return runtime_error(driver()->cuMemcpyHtoD(device_address(target), source, bytes));
	case cudaMemcpyDeviceToHost:
		return runtime_error(driver()->cuMemcpyDtoH(target, device_address(source), bytes));
	case cudaMemcpyDeviceToDevice:
		return runtime_error(driver()->cuMemcpyDtoD(
			device_address(target), device_address(source), bytes));
	default:
		return runtime_error(
			driver()->cuMemcpy(device_address(target), device_address(source), bytes));
	}
}

cudaError_t impl_cudaMemcpyAsync(void *target, const void *source, size_t bytes,
	enum cudaMemcpyKind kind, cudaStream_t stream)
{
	NEED_CONTEXT();
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return runtime_error(
			driver()->cuMemcpyHtoDAsync(device_address(target), source, bytes, stream));
	case cudaMemcpyDeviceToHost:
		return runtime_error(
			driver()->cuMemcpyDtoHAsync(target, device_address(source), bytes, stream));
	case cudaMemcpyDeviceToDevice:
		return runtime_error(driver()->cuMemcpyDtoDAsync(
			device_address(target), device_address(source), bytes, stream));
	default:
		return runtime_error(driver()->cuMemcpyAsync(
			device_address(target), device_address(source), bytes, stream));
	}
}

static CUDA_MEMCPY2D plan_2d(void *target, size_t target_pitch, const void *source,
	size_t source_pitch, size_t width, size_t height, enum cudaMemcpyKind kind)
{
	bool from_host = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost;
	bool to_host = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;

	return (CUDA_MEMCPY2D){
		.srcMemoryType = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.srcHost = source,
		.srcDevice = device_address(source),
		.srcPitch = source_pitch,
		.dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.dstHost = target,
		.dstDevice = device_address(target),
		.dstPitch = target_pitch,
		.WidthInBytes = width,
		.Height = height};
}

cudaError_t impl_cudaMemcpy2D(void *target, size_t target_pitch, const void *source,
	size_t source_pitch, size_t width, size_t height, enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY2D plan =
		plan_2d(target, target_pitch, source, source_pitch, width, height, kind);

	NEED_CONTEXT();
	return runtime_error(driver()->cuMemcpy2D(&plan));
}

cudaError_t impl_cudaMemcpy2DAsync(void *target, size_t target_pitch, const void *source,
	size_t source_pitch, size_t width, size_t height, enum cudaMemcpyKind kind,
	cudaStream_t stream)
{
	CUDA_MEMCPY2D plan =
		plan_2d(target, target_pitch, source, source_pitch, width, height, kind);

	NEED_CONTEXT();
	return runtime_error(driver()->cuMemcpy2DAsync(&plan, stream));
}

static cudaError_t peers(int one, int other, CUcontext *ret_one, CUcontext *ret_other)
{
	CUresult result = driver()->cuDevicePrimaryCtxRetain(ret_one, one);

	return runtime_error(
		result ? result : driver()->cuDevicePrimaryCtxRetain(ret_other, other));
}

cudaError_t impl_cudaMemcpyPeer(
	void *target, int target_device, const void *source, int source_device, size_t bytes)
{
	CUcontext to, from;
	cudaError_t error;

	NEED_CONTEXT();
	error = peers(target_device, source_device, &to, &from);
	if (error != cudaSuccess)
		return error;
	return runtime_error(driver()->cuMemcpyPeer(
		device_address(target), to, device_address(source), from, bytes));
}

cudaError_t impl_cudaMemcpyPeerAsync(void *target, int target_device, const void *source,
	int source_device, size_t bytes, cudaStream_t stream)
{
	CUcontext to, from;
	cudaError_t error;

	NEED_CONTEXT();
	error = peers(target_device, source_device, &to, &from);
	if (error != cudaSuccess)
		return error;
	return runtime_error(driver()->cuMemcpyPeerAsync(
		device_address(target), to, device_address(source), from, bytes, stream));
}

cudaError_t impl_cudaMemset(void *target, int value, size_t bytes)
{
	NEED_CONTEXT();
	return runtime_error(
		driver()->cuMemsetD8(device_address(target), (unsigned char)value, bytes));
}

cudaError_t impl_cudaMemsetAsync(void *target, int value, size_t bytes, cudaStream_t stream)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuMemsetD8Async(
		device_address(target), (unsigned char)value, bytes, stream));
}

cudaError_t impl_cudaMemset2DAsync(
	void *target, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuMemsetD2D8Async(
		device_address(target), pitch, (unsigned char)value, width, height, stream));
}

cudaError_t impl_cudaMemset2D(void *target, size_t pitch, int value, size_t width, size_t height)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuMemsetD2D8(
		device_address(target), pitch, (unsigned char)value, width, height));
}

cudaError_t impl_cudaHostGetDevicePointer(
	void **ret_device_address, void *address, unsigned int flags)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuMemHostGetDevicePointer(
		(CUdeviceptr *)ret_device_address, address, flags));
}

/* ---- pools ---- */

cudaError_t impl_cudaMallocAsync(void **ret_address, size_t bytes, cudaStream_t stream)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuMemAllocAsync((CUdeviceptr *)ret_address, bytes, stream));
}

cudaError_t impl_cudaFreeAsync(void *address, cudaStream_t stream)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuMemFreeAsync(device_address(address), stream));
}

cudaError_t impl_cudaMallocFromPoolAsync(
	void **ret_address, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
	NEED_CONTEXT();
	return runtime_error(
		driver()->cuMemAllocFromPoolAsync((CUdeviceptr *)ret_address, bytes, pool, stream));
}

cudaError_t impl_cudaMemPoolCreate(
	cudaMemPool_t *ret_pool, const struct cudaMemPoolProps *properties)
{
	CUmemPoolProps own = {
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = properties->location.id}};

	NEED_CONTEXT();
	return runtime_error(driver()->cuMemPoolCreate(ret_pool, &own));
}

cudaError_t impl_cudaMemPoolDestroy(cudaMemPool_t pool)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuMemPoolDestroy(pool));
}

cudaError_t impl_cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep_bytes)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuMemPoolTrimTo(pool, keep_bytes));
}

cudaError_t impl_cudaMemPoolSetAttribute(
	cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
	NEED_CONTEXT();
	return runtime_error(
		driver()->cuMemPoolSetAttribute(pool, (CUmemPool_attribute)attribute, value));
}

cudaError_t impl_cudaMemPoolGetAttribute(
	cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
	NEED_CONTEXT();
	return runtime_error(
		driver()->cuMemPoolGetAttribute(pool, (CUmemPool_attribute)attribute, value));
}

cudaError_t impl_cudaDeviceGetMemPool(cudaMemPool_t *ret_pool, int device)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuDeviceGetMemPool(ret_pool, device));
}

cudaError_t impl_cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuDeviceSetMemPool(device, pool));
}

cudaError_t impl_cudaMemPoolSetAccess(
	cudaMemPool_t pool, const struct cudaMemAccessDesc *access, size_t count)
{
	NEED_CONTEXT();
	return runtime_error(
		driver()->cuMemPoolSetAccess(pool, (const CUmemAccessDesc *)access, count));
}

cudaError_t impl_cudaDeviceGetDefaultMemPool(cudaMemPool_t *ret_pool, int device)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuDeviceGetDefaultMemPool(ret_pool, device));
}
