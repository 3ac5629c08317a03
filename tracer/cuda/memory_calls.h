/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_calls.h - calls that get or give back memory: what CUPTI's records of memory lack.
 *
 * These are the sizes of allocations that failed, virtual memory management, memory of other
 * processes (IPC), and memory of graphs.
 */
#ifndef TRACER_CUDA_MEMORY_CALLS_H
#define TRACER_CUDA_MEMORY_CALLS_H

#include <stdbool.h>
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
	MEMORY_CALL_IPC_CLOSE,
	MEMORY_CALL_FREE,        /* address */
	MEMORY_CALL_NODE_ALLOC,  /* node, graph, dependencies, their number, parameters */
	MEMORY_CALL_NODE_FREE,   /* likewise, with an address */
	MEMORY_CALL_NODE,        /* likewise, with parameters of any type */
	MEMORY_CALL_NODE_2,      /* node, graph, dependencies, their data and number, parameters */
	MEMORY_CALL_INSTANTIATE, /* executable graph, graph */
	MEMORY_CALL_INSTANTIATE_FLAGS,  /* executable graph, graph, flags */
	MEMORY_CALL_INSTANTIATE_PARAMS, /* executable graph, graph, parameters with flags */
	MEMORY_CALL_LAUNCH,             /* executable graph */
	MEMORY_CALL_TRIM,               /* device */
	MEMORY_CALL_ATTRIBUTE           /* device and attribute, value */
};

/* Return what the function does, by its name in CUPTI. Any thread. */
enum memory_call memory_call_of(const char *name);

/* Remember that the call in progress of this thread has added a node to a graph, whose CUPTI id is
 * given: a captured allocation is told from others by that. thread.busy set. */
void memory_node_created(struct thread *t, uint32_t node_type, uint32_t graph_id);

/* Return whether the call adds a node of memory to a graph, or launches a graph in a process that
 * has such nodes: what CUPTI's name of the function does not say. Any thread. */
bool memory_call_is_of_graph(enum memory_call call, const struct cupti_callback *c);

/* Record what the memory records of CUPTI do not have of this outermost call, which has returned
 * `result`. thread.busy set. */
void memory_call_put(
	struct thread *t, enum memory_call call, const struct cupti_callback *c, uint32_t result);

#endif
