/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_calls.c - sizes of failed allocations, virtual memory management, and memory of other
 * processes, from the parameters of calls.
 *
 * These parameters have the same layout in all versions of CUDA (generated_cuda_meta.h,
 * generated_cuda_runtime_api_meta.h): 8 bytes each, structures by value in line.
 */
#include "tracer/cuda/memory_calls.h"

#include "common/clock.h"
#include "common/schema/fnv.h"
#include "tracer/cuda/function_name.h"
#include "tracer/cuda/row.h"

#define OUT_OF_MEMORY 2u /* cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY */
#define IPC_HANDLE_BYTES 64u

enum memory_call memory_call_of(const char *name)
{
	static const struct {
		const char *name;
		enum memory_call call;
	} calls[] = {
		{"cudaMalloc", MEMORY_CALL_SIZE},
		{"cudaMallocManaged", MEMORY_CALL_SIZE},
		{"cudaMallocHost", MEMORY_CALL_SIZE},
		{"cudaHostAlloc", MEMORY_CALL_SIZE},
		{"cudaMallocAsync", MEMORY_CALL_SIZE},
		{"cudaMallocFromPoolAsync", MEMORY_CALL_SIZE},
		{"cuMemAlloc", MEMORY_CALL_SIZE},
		{"cuMemAllocManaged", MEMORY_CALL_SIZE},
		{"cuMemAllocHost", MEMORY_CALL_SIZE},
		{"cuMemHostAlloc", MEMORY_CALL_SIZE},
		{"cuMemAllocAsync", MEMORY_CALL_SIZE},
		{"cuMemAllocFromPoolAsync", MEMORY_CALL_SIZE},
		{"cudaMallocPitch", MEMORY_CALL_PITCH},
		{"cuMemAllocPitch", MEMORY_CALL_PITCH},
		{"cudaMalloc3D", MEMORY_CALL_EXTENT},
		{"cudaMallocArray", MEMORY_CALL_ARRAY},
		{"cudaMalloc3DArray", MEMORY_CALL_ARRAY_3D},
		{"cuArrayCreate", MEMORY_CALL_DESCRIPTOR},
		{"cuArray3DCreate", MEMORY_CALL_DESCRIPTOR_3D},
		{"cudaMallocMipmappedArray", MEMORY_CALL_UNSIZED},
		{"cuMipmappedArrayCreate", MEMORY_CALL_UNSIZED},
		{"cuMemCreate", MEMORY_CALL_CREATE},
		{"cuMemRelease", MEMORY_CALL_RELEASE},
		{"cuMemMap", MEMORY_CALL_MAP},
		{"cuMemUnmap", MEMORY_CALL_UNMAP},
		{"cuMemRetainAllocationHandle", MEMORY_CALL_RETAIN},
		{"cuMemImportFromShareableHandle", MEMORY_CALL_IMPORT},
		{"cudaIpcGetMemHandle", MEMORY_CALL_IPC_GET},
		{"cuIpcGetMemHandle", MEMORY_CALL_IPC_GET},
		{"cudaIpcOpenMemHandle", MEMORY_CALL_IPC_OPEN},
		{"cuIpcOpenMemHandle", MEMORY_CALL_IPC_OPEN},
		{"cudaIpcCloseMemHandle", MEMORY_CALL_IPC_CLOSE},
		{"cuIpcCloseMemHandle", MEMORY_CALL_IPC_CLOSE},
	};
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (cuda_function_is(name, calls[i].name))
			return calls[i].call;
	return MEMORY_CALL_NONE;
}

/* ---- sizes of failed allocations ---- */

/* Beginning of CUDA_ARRAY_DESCRIPTOR and CUDA_ARRAY3D_DESCRIPTOR. */
struct array_descriptor {
	uint64_t width, height;
	uint32_t format, channels;
};
struct array_descriptor_3d {
	uint64_t width, height, depth;
	uint32_t format, channels;
};

/* Return the bytes of a channel of this CUarray_format; 0 = unknown. */
static uint32_t format_bytes(uint32_t format)
{
	switch (format) {
	case 1: /* 8 bits */
	case 8:
		return 1;
	case 2: /* 16 bits */
	case 9:
	case 0x10:
		return 2;
	case 3: /* 32 bits */
	case 10:
	case 0x20:
		return 4;
	default:
		return 0;
	}
}

/* Return the bytes of an element of this cudaChannelFormatDesc: the bits of up to four channels. */
static uint64_t channels_bytes(const int32_t *bits)
{
	return bits ? ((uint64_t)(uint32_t)bits[0] + (uint32_t)bits[1] + (uint32_t)bits[2] +
			      (uint32_t)bits[3]) /
			8
		    : 0;
}

static uint64_t volume(uint64_t width, uint64_t height, uint64_t depth)
{
	return width * (height ? height : 1) * (depth ? depth : 1);
}

/* Return the bytes that an allocation requested; 0 = unknown. */
static uint64_t requested(enum memory_call call, const uint64_t *p)
{
	const struct array_descriptor *flat = (const void *)(uintptr_t)p[1];
	const struct array_descriptor_3d *solid = (const void *)(uintptr_t)p[1];
	switch (call) {
	case MEMORY_CALL_SIZE:
	case MEMORY_CALL_CREATE:
		return p[1];
	case MEMORY_CALL_PITCH:
		return p[2] * p[3];
	case MEMORY_CALL_EXTENT:
		return volume(p[1], p[2], p[3]);
	case MEMORY_CALL_ARRAY:
		return volume(p[2], p[3], 0) * channels_bytes((const void *)(uintptr_t)p[1]);
	case MEMORY_CALL_ARRAY_3D:
		return volume(p[2], p[3], p[4]) * channels_bytes((const void *)(uintptr_t)p[1]);
	case MEMORY_CALL_DESCRIPTOR:
		return volume(flat->width, flat->height, 0) * format_bytes(flat->format) *
			flat->channels;
	case MEMORY_CALL_DESCRIPTOR_3D:
		return volume(solid->width, solid->height, solid->depth) *
			format_bytes(solid->format) * solid->channels;
	default:
		return 0;
	}
}

static void failure_put(struct thread *t, enum memory_call call, const struct cupti_callback *c)
{
	uint64_t values[CUDA_COLUMNS_MAX + 1] = {0};
	if (c->parameters)
		values[COLUMN_CUDA_ALLOCATION_FAILED_BYTES] = requested(call, c->parameters);
	values[COLUMN_CUDA_ALLOCATION_FAILED_CORRELATION_ID] = c->correlation;
	cuda_row_put(t, NUMBER_CUDA_ALLOCATION_FAILED, clock_monotonic_ns(), 0, values);
}

/* ---- memory that CUPTI does not report ---- */

/* Beginning of CUmemAllocationProp. */
struct allocation_properties {
	uint32_t type, handle_types;
	uint32_t location_type;
	int32_t location;
};

static uint64_t word_at(uint64_t pointer)
{
	return pointer ? *(const uint64_t *)(uintptr_t)pointer : 0;
}

static uint64_t ipc_hash(const uint8_t *handle)
{
	uint64_t hash = FNV_EMPTY;
	for (uint32_t i = 0; handle && i < IPC_HANDLE_BYTES; i++)
		hash = fnv_add(hash, handle[i]);
	return hash;
}

/* Fill the row from the parameters. Return false if the call is none that the event is for. */
static bool mapping_fill(enum memory_call call, const uint64_t *p, uint64_t *values)
{
	const struct allocation_properties *properties;
	uint64_t *handle = &values[COLUMN_CUDA_MAPPING_HANDLE];
	uint64_t *address = &values[COLUMN_CUDA_MAPPING_ADDRESS];
	uint64_t *operation = &values[COLUMN_CUDA_MAPPING_OPERATION];
	switch (call) {
	case MEMORY_CALL_CREATE:
		properties = (const void *)(uintptr_t)p[2];
		*operation = MAPPING_CREATE;
		*handle = word_at(p[0]);
		values[COLUMN_CUDA_MAPPING_BYTES] = p[1];
		values[COLUMN_CUDA_MAPPING_LOCATION_TYPE] = properties->location_type;
		values[COLUMN_CUDA_MAPPING_DEVICE_ID] = (uint32_t)properties->location;
		return true;
	case MEMORY_CALL_RELEASE:
		*operation = MAPPING_RELEASE;
		*handle = p[0];
		return true;
	case MEMORY_CALL_MAP:
		*operation = MAPPING_MAP;
		*address = p[0];
		values[COLUMN_CUDA_MAPPING_BYTES] = p[1];
		*handle = p[3];
		return true;
	case MEMORY_CALL_UNMAP:
		*operation = MAPPING_UNMAP;
		*address = p[0];
		values[COLUMN_CUDA_MAPPING_BYTES] = p[1];
		return true;
	case MEMORY_CALL_RETAIN:
	case MEMORY_CALL_IMPORT:
		*operation = call == MEMORY_CALL_RETAIN ? MAPPING_RETAIN : MAPPING_IMPORT;
		*handle = word_at(p[0]);
		return true;
	case MEMORY_CALL_IPC_GET:
		*operation = MAPPING_IPC_GET;
		*handle = ipc_hash((const void *)(uintptr_t)p[0]);
		*address = p[1];
		return true;
	case MEMORY_CALL_IPC_OPEN: /* the handle is passed by value */
		*operation = MAPPING_IPC_OPEN;
		*handle = ipc_hash((const void *)(p + 1));
		*address = word_at(p[0]);
		return true;
	case MEMORY_CALL_IPC_CLOSE:
		*operation = MAPPING_IPC_CLOSE;
		*address = p[0];
		return true;
	default:
		return false;
	}
}

void memory_call_put(
	struct thread *t, enum memory_call call, const struct cupti_callback *c, uint32_t result)
{
	uint64_t values[CUDA_COLUMNS_MAX + 1] = {0};
	if (result == OUT_OF_MEMORY && call <= MEMORY_CALL_CREATE) {
		failure_put(t, call, c);
	} else if (!result && c->parameters && mapping_fill(call, c->parameters, values)) {
		values[COLUMN_CUDA_MAPPING_CORRELATION_ID] = c->correlation;
		cuda_row_put(t, NUMBER_CUDA_MAPPING, clock_monotonic_ns(), 0, values);
	}
}
