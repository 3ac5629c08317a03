/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_calls.h - calls that get or give back memory: what CUPTI's records of memory lack.
 *
 * These are the sizes of allocations that failed, virtual memory management, and memory of other
 * processes (IPC).
 */
#ifndef TRACER_CUDA_MEMORY_CALLS_H
#define TRACER_CUDA_MEMORY_CALLS_H

#include <stdint.h>

#include "tracer/cuda/cupti.h"
#include "tracer/core/thread.h"

/* What a function does with memory, and where its parameters say so. */
enum memory_call {
	MEMORY_CALL_NONE = 0,
	MEMORY_CALL_SIZE,          /* result, bytes */
	MEMORY_CALL_PITCH,         /* result, its pitch, width in bytes, height */
	MEMORY_CALL_EXTENT,        /* result, width in bytes, height, depth */
	MEMORY_CALL_ARRAY,         /* result, channels, width, height */
	MEMORY_CALL_ARRAY_3D,      /* result, channels, width, height, depth */
	MEMORY_CALL_DESCRIPTOR,    /* result, descriptor of an array */
	MEMORY_CALL_DESCRIPTOR_3D, /* likewise, of three dimensions */
	MEMORY_CALL_UNSIZED,
	MEMORY_CALL_CREATE, /* result, bytes, properties */
	MEMORY_CALL_RELEASE,
	MEMORY_CALL_MAP,
	MEMORY_CALL_UNMAP,
	MEMORY_CALL_RETAIN,
	MEMORY_CALL_IMPORT,
	MEMORY_CALL_IPC_GET,
	MEMORY_CALL_IPC_OPEN,
	MEMORY_CALL_IPC_CLOSE
};

/* Return what the function does, by its name in CUPTI. Any thread. */
enum memory_call memory_call_of(const char *name);

/* Record what the memory records of CUPTI do not have of this outermost call, which has returned
 * `result`. thread.busy set. */
void memory_call_put(
	struct thread *t, enum memory_call call, const struct cupti_callback *c, uint32_t result);

#endif
