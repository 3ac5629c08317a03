/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.c - copies and sets: the bytes are moved at once, the time is added to the timeline.
 */
#include "tests/sim/driver.h"
#include "impl.h"

#include <cupti_activity.h>
#include <string.h>

uint64_t copy_duration_ns(uint64_t bytes, int copy_kind)
{
	uint64_t per_us = sim_option(SIM_OPTION_copy_bytes_per_us);

	if (copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD)
		per_us *= 100;
	return 800 + bytes * 1000 / (per_us ? per_us : 1);
}

static bool is_host(int kind)
{
	return kind == MEMORY_PAGEABLE || kind == MEMORY_PINNED;
}

static uint8_t copy_kind(int source, int target)
{
	if (is_host(source))
		return is_host(target) ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOH
				       : CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
	return is_host(target) ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH : CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
}

static void act_copy(struct work *work)
{
	memmove((void *)work->target, (const void *)work->source, work->bytes);
}

static void set_kinds(struct work *work)
{
	int source = memory_kind_of(work->source), target = memory_kind_of(work->target);

	work->op.copy.source_kind = (uint8_t)source;
	work->op.copy.target_kind = (uint8_t)target;
	if (!work->op.copy.copy_kind)
		work->op.copy.copy_kind = copy_kind(source, target);
	work->op.copy.bytes = work->bytes;
	work->duration_ns = copy_duration_ns(work->bytes, work->op.copy.copy_kind);
}

void copy_prepare(struct work *work, uintptr_t target, uintptr_t source, size_t bytes, uint8_t kind)
{
	*work = (struct work){.type = CU_GRAPH_NODE_TYPE_MEMCPY,
		.op = {.kind = SIM_COPY, .copy = {.copy_kind = kind}},
		.act = act_copy,
		.target = target,
		.source = source,
		.bytes = bytes};
	set_kinds(work);
}

static CUresult copy(
	CUstream handle, uintptr_t target, uintptr_t source, size_t bytes, uint8_t kind, bool async)
{
	CUstream stream = stream_of(handle);
	struct work work;
	CUresult result;

	if (!stream)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!bytes)
		return CUDA_SUCCESS;
	if (!target || !source)
		return CUDA_ERROR_INVALID_VALUE;
	copy_prepare(&work, target, source, bytes, kind);
	work.op.copy.async = async;
	result = work_submit(stream, &work);
	if (!result && !async)
		sim_wait_until(stream_busy_until(stream));
	return result;
}

CUresult impl_cuMemcpyHtoD_v2(CUdeviceptr target, const void *source, size_t bytes)
{
	return copy(NULL, (uintptr_t)target, (uintptr_t)source, bytes,
		CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, false);
}

CUresult impl_cuMemcpyHtoDAsync_v2(
	CUdeviceptr target, const void *source, size_t bytes, CUstream stream)
{
	return copy(stream, (uintptr_t)target, (uintptr_t)source, bytes,
		CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, true);
}

CUresult impl_cuMemcpyDtoH_v2(void *target, CUdeviceptr source, size_t bytes)
{
	return copy(NULL, (uintptr_t)target, (uintptr_t)source, bytes,
		CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, false);
}

CUresult impl_cuMemcpyDtoHAsync_v2(void *target, CUdeviceptr source, size_t bytes, CUstream stream)
{
	return copy(stream, (uintptr_t)target, (uintptr_t)source, bytes,
		CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, true);
}

CUresult impl_cuMemcpyDtoD_v2(CUdeviceptr target, CUdeviceptr source, size_t bytes)
{
	return copy(NULL, (uintptr_t)target, (uintptr_t)source, bytes,
		CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, true);
}

CUresult impl_cuMemcpyDtoDAsync_v2(
	CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream)
{
	return copy(stream, (uintptr_t)target, (uintptr_t)source, bytes,
		CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, true);
}

CUresult impl_cuMemcpy(CUdeviceptr target, CUdeviceptr source, size_t bytes)
{
	return copy(NULL, (uintptr_t)target, (uintptr_t)source, bytes, 0, false);
}

CUresult impl_cuMemcpyAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream)
{
	return copy(stream, (uintptr_t)target, (uintptr_t)source, bytes, 0, true);
}

static CUresult copy_peer(CUstream handle, uintptr_t target, CUcontext target_context,
	uintptr_t source, CUcontext source_context, size_t bytes, bool async)
{
	CUstream stream = stream_of(handle);
	struct work work;

	if (!stream || !target_context || !source_context)
		return CUDA_ERROR_INVALID_CONTEXT;
	copy_prepare(&work, target, source, bytes, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
	work.op.kind = SIM_PEER_COPY;
	work.op.copy.async = async;
	work.op.copy.source_device = source_context->device->facts.ordinal;
	work.op.copy.target_device = target_context->device->facts.ordinal;
	work.op.copy.source_context = source_context->id;
	work.op.copy.target_context = target_context->id;
	return work_submit(stream, &work);
}

CUresult impl_cuMemcpyPeer(CUdeviceptr target, CUcontext target_context, CUdeviceptr source,
	CUcontext source_context, size_t bytes)
{
	return copy_peer(NULL, (uintptr_t)target, target_context, (uintptr_t)source, source_context,
		bytes, false);
}

CUresult impl_cuMemcpyPeerAsync(CUdeviceptr target, CUcontext target_context, CUdeviceptr source,
	CUcontext source_context, size_t bytes, CUstream stream)
{
	return copy_peer(stream, (uintptr_t)target, target_context, (uintptr_t)source,
		source_context, bytes, true);
}

/* ---- two dimensions: row after row, one record ---- */

static void act_copy_2d(struct work *work)
{
	const CUDA_MEMCPY2D *plan = work->host_data;

	for (size_t row = 0; row < plan->Height; row++)
		memmove((char *)work->target + row * plan->dstPitch,
			(const char *)work->source + row * plan->srcPitch, plan->WidthInBytes);
}

static uintptr_t side(
	CUmemorytype type, const void *host, CUdeviceptr device, size_t x, size_t y, size_t pitch)
{
	uintptr_t base = type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : (uintptr_t)device;

	return base + y * pitch + x;
}

static CUresult copy_2d(CUstream handle, const CUDA_MEMCPY2D *plan, bool async)
{
	CUstream stream = stream_of(handle);
	CUDA_MEMCPY2D own = *plan;
	struct work work;
	CUresult result;

	if (!stream)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (stream->capture || own.srcMemoryType == CU_MEMORYTYPE_ARRAY ||
		own.dstMemoryType == CU_MEMORYTYPE_ARRAY)
		return CUDA_ERROR_NOT_SUPPORTED;
	copy_prepare(&work,
		side(own.dstMemoryType, own.dstHost, own.dstDevice, own.dstXInBytes, own.dstY,
			own.dstPitch),
		side(own.srcMemoryType, own.srcHost, own.srcDevice, own.srcXInBytes, own.srcY,
			own.srcPitch),
		own.WidthInBytes * own.Height, 0);
	work.act = act_copy_2d;
	work.host_data = &own;
	work.op.copy.async = async;
	result = work_submit(stream, &work);
	if (!result && !async)
		sim_wait_until(stream_busy_until(stream));
	return result;
}

CUresult impl_cuMemcpy2D_v2(const CUDA_MEMCPY2D *plan)
{
	return copy_2d(NULL, plan, false);
}

CUresult impl_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *plan)
{
	return copy_2d(NULL, plan, false);
}

CUresult impl_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *plan, CUstream stream)
{
	return copy_2d(stream, plan, true);
}

/* ---- sets ---- */

static void act_set(struct work *work)
{
	unsigned char *at = (unsigned char *)work->target;

	if (work->element_bytes == 1) {
		memset(at, (int)work->value, work->bytes);
		return;
	}
	for (size_t i = 0; i < work->bytes; i += work->element_bytes)
		memcpy(at + i, &work->value, work->element_bytes); /* little endian */
}

void set_prepare(
	struct work *work, uintptr_t target, unsigned value, unsigned element_bytes, size_t bytes)
{
	*work = (struct work){.type = CU_GRAPH_NODE_TYPE_MEMSET,
		.op = {.kind = SIM_SET,
			.set = {.bytes = bytes,
				.value = value,
				.memory_kind = (uint8_t)memory_kind_of(target)}},
		.duration_ns = copy_duration_ns(bytes, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD),
		.act = act_set,
		.target = target,
		.bytes = bytes,
		.value = value,
		.element_bytes = element_bytes};
}

static void act_set_2d(struct work *work)
{
	const size_t *pitch_and_width = work->host_data;

	for (size_t at = 0; at < work->bytes; at += pitch_and_width[1])
		memset((char *)work->target + at / pitch_and_width[1] * pitch_and_width[0],
			(int)work->value, pitch_and_width[1]);
}

CUresult impl_cuMemsetD2D8Async(CUdeviceptr target, size_t pitch, unsigned char value, size_t width,
	size_t height, CUstream handle)
{
	CUstream stream = stream_of(handle);
	size_t pitch_and_width[2] = {pitch, width};
	struct work work;

	if (!stream || stream->capture)
		return CUDA_ERROR_NOT_SUPPORTED;
	set_prepare(&work, (uintptr_t)target, value, 1, width * height);
	work.act = act_set_2d;
	work.host_data = pitch_and_width;
	work.op.set.async = true;
	return work_submit(stream, &work);
}

CUresult impl_cuMemsetD2D8_v2(
	CUdeviceptr target, size_t pitch, unsigned char value, size_t width, size_t height)
{
	return impl_cuMemsetD2D8Async(target, pitch, value, width, height, NULL);
}

static CUresult set(CUstream handle, CUdeviceptr target, unsigned value, unsigned element_bytes,
	size_t count, bool async)
{
	CUstream stream = stream_of(handle);
	struct work work;

	if (!stream)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!target)
		return CUDA_ERROR_INVALID_VALUE;
	set_prepare(&work, (uintptr_t)target, value, element_bytes, count * element_bytes);
	work.op.set.async = async;
	return work_submit(stream, &work);
}

CUresult impl_cuMemsetD8_v2(CUdeviceptr target, unsigned char value, size_t count)
{
	return set(NULL, target, value, 1, count, false);
}

CUresult impl_cuMemsetD16_v2(CUdeviceptr target, unsigned short value, size_t count)
{
	return set(NULL, target, value, 2, count, false);
}

CUresult impl_cuMemsetD32_v2(CUdeviceptr target, unsigned int value, size_t count)
{
	return set(NULL, target, value, 4, count, false);
}

CUresult impl_cuMemsetD8Async(
	CUdeviceptr target, unsigned char value, size_t count, CUstream stream)
{
	return set(stream, target, value, 1, count, true);
}

CUresult impl_cuMemsetD16Async(
	CUdeviceptr target, unsigned short value, size_t count, CUstream stream)
{
	return set(stream, target, value, 2, count, true);
}

CUresult impl_cuMemsetD32Async(
	CUdeviceptr target, unsigned int value, size_t count, CUstream stream)
{
	return set(stream, target, value, 4, count, true);
}
