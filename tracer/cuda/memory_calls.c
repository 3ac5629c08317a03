/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_calls.c - sizes of failed allocations, virtual memory management, memory of other
 * processes, and memory of graphs, from the parameters of calls.
 *
 * These parameters have the same layout in all versions of CUDA (generated_cuda_meta.h,
 * generated_cuda_runtime_api_meta.h): 8 bytes each, 4 bytes if two enumerations or devices are
 * neighbors, structures by value in line. The layout of the nodes' parameters is that of cuda.h.
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
		{"cudaFree", MEMORY_CALL_FREE},
		{"cudaFreeAsync", MEMORY_CALL_FREE},
		{"cuMemFree", MEMORY_CALL_FREE},
		{"cuMemFreeAsync", MEMORY_CALL_FREE},
		{"cudaGraphAddMemAllocNode", MEMORY_CALL_NODE_ALLOC},
		{"cuGraphAddMemAllocNode", MEMORY_CALL_NODE_ALLOC},
		{"cudaGraphAddMemFreeNode", MEMORY_CALL_NODE_FREE},
		{"cuGraphAddMemFreeNode", MEMORY_CALL_NODE_FREE},
		{"cudaGraphAddNode_v12020", MEMORY_CALL_NODE},
		{"cudaGraphAddNode", MEMORY_CALL_NODE_2},
		{"cuGraphAddNode_v2", MEMORY_CALL_NODE_2},
		{"cuGraphAddNode", MEMORY_CALL_NODE},
		{"cudaGraphInstantiate_v10000", MEMORY_CALL_INSTANTIATE},
		{"cudaGraphInstantiate", MEMORY_CALL_INSTANTIATE_FLAGS},
		{"cuGraphInstantiate", MEMORY_CALL_INSTANTIATE},
		{"cudaGraphInstantiateWithFlags", MEMORY_CALL_INSTANTIATE_FLAGS},
		{"cuGraphInstantiateWithFlags", MEMORY_CALL_INSTANTIATE_FLAGS},
		{"cudaGraphInstantiateWithParams", MEMORY_CALL_INSTANTIATE_PARAMS},
		{"cuGraphInstantiateWithParams", MEMORY_CALL_INSTANTIATE_PARAMS},
		{"cudaGraphLaunch", MEMORY_CALL_LAUNCH},
		{"cuGraphLaunch", MEMORY_CALL_LAUNCH},
		{"cudaDeviceGraphMemTrim", MEMORY_CALL_TRIM},
		{"cuDeviceGraphMemTrim", MEMORY_CALL_TRIM},
		{"cudaDeviceGetGraphMemAttribute", MEMORY_CALL_ATTRIBUTE},
		{"cuDeviceGetGraphMemAttribute", MEMORY_CALL_ATTRIBUTE},
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

/* ---- memory of graphs ---- */

#define NODE_TYPE_ALLOC 10u /* CUgraphNodeType */
#define NODE_TYPE_FREE 11u

/* Beginning of CUDA_MEM_ALLOC_NODE_PARAMS. */
struct allocation_node {
	struct allocation_properties properties;
	uint64_t rest_of_properties[9];
	uint64_t accesses, access_count;
	uint64_t bytes, address;
};

/* Beginning of CUgraphNodeParams. */
struct node_parameters {
	uint32_t type, reserved[3];
	struct allocation_node allocation; /* of a node that frees: the address alone */
};

/* Addresses that nodes allocate, as a Bloom filter: calls that free other memory, most of all, are
 * not recorded. Bits are only set. */
static struct {
	uint64_t bits[64];
	bool any; /* a node that allocates or frees memory was seen: launches are recorded */
} graphs;

static uint64_t *address_word(uint64_t address, uint64_t *ret_bit)
{
	const uint64_t hash = (address >> 8) * 0x9e3779b97f4a7c15u;
	*ret_bit = (uint64_t)1 << (hash >> 58);
	return &graphs.bits[hash >> 52 & 63];
}

static bool address_is_known(uint64_t address)
{
	uint64_t bit;
	const uint64_t *word = address_word(address, &bit);
	return __atomic_load_n(word, __ATOMIC_RELAXED) & bit;
}

void memory_node_created(struct thread *t, uint32_t node_type, uint32_t graph_id)
{
	if (!t->cuda_level || (node_type != NODE_TYPE_ALLOC && node_type != NODE_TYPE_FREE))
		return;
	t->cuda_node_graph = graph_id;
	t->cuda_node_correlation = t->cuda_correlation;
}

/* Return the id of the graph to which the call has added a node of memory: 0 = to none. */
static uint32_t node_graph(const struct thread *t, uint32_t correlation)
{
	return t->cuda_node_correlation == correlation ? t->cuda_node_graph : 0;
}

static uint32_t graph_id(uint64_t graph)
{
	uint32_t id = 0;
	void *handle = (void *)(uintptr_t)graph;
	return cupti.GetGraphId && handle && cupti.GetGraphId(handle, &id) == CUPTI_OK ? id : 0;
}

static bool node_alloc_fill(uint64_t *values, uint32_t graph, uint64_t address, uint64_t bytes)
{
	uint64_t bit, *word = address_word(address, &bit);
	__atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
	__atomic_store_n(&graphs.any, true, __ATOMIC_RELAXED);
	values[COLUMN_CUDA_MAPPING_OPERATION] = MAPPING_GRAPH_ALLOC;
	values[COLUMN_CUDA_MAPPING_ADDRESS] = address;
	values[COLUMN_CUDA_MAPPING_BYTES] = bytes;
	values[COLUMN_CUDA_MAPPING_GRAPH_ID] = graph;
	return graph != 0;
}

static bool node_free_fill(uint64_t *values, uint32_t graph, uint64_t address)
{
	__atomic_store_n(&graphs.any, true, __ATOMIC_RELAXED);
	values[COLUMN_CUDA_MAPPING_OPERATION] = MAPPING_GRAPH_FREE;
	values[COLUMN_CUDA_MAPPING_ADDRESS] = address;
	values[COLUMN_CUDA_MAPPING_GRAPH_ID] = graph;
	return graph != 0;
}

/* Fill the row of a node that allocates memory, from its parameters. */
static bool allocation_node_fill(uint64_t *values, uint64_t graph, const struct allocation_node *n)
{
	values[COLUMN_CUDA_MAPPING_LOCATION_TYPE] = n->properties.location_type;
	values[COLUMN_CUDA_MAPPING_DEVICE_ID] = (uint32_t)n->properties.location;
	return node_alloc_fill(values, graph_id(graph), n->address, n->bytes);
}

static bool node_fill(uint64_t *values, uint64_t graph, const struct node_parameters *n)
{
	if (n->type == NODE_TYPE_ALLOC)
		return allocation_node_fill(values, graph, &n->allocation);
	return n->type == NODE_TYPE_FREE &&
		node_free_fill(
			values, graph_id(graph), word_at((uint64_t)(uintptr_t)&n->allocation));
}

/* Fill the row of an allocation that was captured: it became a node. It is on the device of the
 * current context. */
static bool captured_alloc_fill(
	const struct thread *t, const struct cupti_callback *c, uint64_t *values)
{
	const uint64_t *p = c->parameters;
	const uint32_t graph = node_graph(t, c->correlation);
	uint32_t device = 0;
	if (!graph)
		return false;
	if (cupti.GetDeviceId)
		cupti.GetDeviceId(c->context, &device);
	values[COLUMN_CUDA_MAPPING_LOCATION_TYPE] = 1;
	values[COLUMN_CUDA_MAPPING_DEVICE_ID] = device;
	return node_alloc_fill(values, graph, word_at(p[0]), p[1]);
}

/* Fill the row of a call that frees an address: it became a node, or it frees what a launch
 * allocated. */
static bool free_fill(const struct thread *t, const struct cupti_callback *c, uint64_t *values)
{
	const uint64_t address = *(const uint64_t *)c->parameters;
	const uint32_t graph = node_graph(t, c->correlation);
	if (graph)
		return node_free_fill(values, graph, address);
	values[COLUMN_CUDA_MAPPING_OPERATION] = MAPPING_GRAPH_RELEASE;
	values[COLUMN_CUDA_MAPPING_ADDRESS] = address;
	return address_is_known(address);
}

static bool instantiate_fill(uint64_t *values, const uint64_t *p, uint64_t flags)
{
	values[COLUMN_CUDA_MAPPING_OPERATION] = MAPPING_GRAPH_INSTANTIATE;
	values[COLUMN_CUDA_MAPPING_HANDLE] = word_at(p[0]);
	values[COLUMN_CUDA_MAPPING_GRAPH_ID] = graph_id(p[1]);
	values[COLUMN_CUDA_MAPPING_GRAPH_FLAGS] = flags;
	return true;
}

static bool launch_fill(uint64_t *values, const uint64_t *p, bool failed)
{
	values[COLUMN_CUDA_MAPPING_OPERATION] =
		failed ? MAPPING_GRAPH_LAUNCH_FAILED : MAPPING_GRAPH_LAUNCH;
	values[COLUMN_CUDA_MAPPING_HANDLE] = p[0];
	return true;
}

/* Fill the row of a read attribute: device and attribute share the first 8 bytes. */
static bool attribute_fill(uint64_t *values, const uint64_t *p)
{
	values[COLUMN_CUDA_MAPPING_OPERATION] = MAPPING_GRAPH_ATTRIBUTE;
	values[COLUMN_CUDA_MAPPING_DEVICE_ID] = (uint32_t)p[0];
	values[COLUMN_CUDA_MAPPING_HANDLE] = p[0] >> 32;
	values[COLUMN_CUDA_MAPPING_BYTES] = word_at(p[1]);
	return true;
}

/* Fill the row of a call for memory of graphs. Return false if the call is none. */
static bool graph_fill(const struct thread *t, enum memory_call call,
	const struct cupti_callback *c, uint64_t *values)
{
	const uint64_t *p = c->parameters;
	const bool any = __atomic_load_n(&graphs.any, __ATOMIC_RELAXED);
	switch (call) {
	case MEMORY_CALL_SIZE:
		return captured_alloc_fill(t, c, values);
	case MEMORY_CALL_FREE:
		return free_fill(t, c, values);
	case MEMORY_CALL_NODE_ALLOC:
		return allocation_node_fill(values, p[1], (const void *)(uintptr_t)p[4]);
	case MEMORY_CALL_NODE_FREE:
		return node_free_fill(values, graph_id(p[1]), p[4]);
	case MEMORY_CALL_NODE:
		return node_fill(values, p[1], (const void *)(uintptr_t)p[4]);
	case MEMORY_CALL_NODE_2:
		return node_fill(values, p[1], (const void *)(uintptr_t)p[5]);
	case MEMORY_CALL_INSTANTIATE:
		return any && instantiate_fill(values, p, 0);
	case MEMORY_CALL_INSTANTIATE_FLAGS:
		return any && instantiate_fill(values, p, p[2]);
	case MEMORY_CALL_INSTANTIATE_PARAMS:
		return any && instantiate_fill(values, p, word_at(p[2]));
	case MEMORY_CALL_LAUNCH:
		return any && launch_fill(values, p, false);
	case MEMORY_CALL_TRIM:
		values[COLUMN_CUDA_MAPPING_OPERATION] = MAPPING_GRAPH_TRIM;
		values[COLUMN_CUDA_MAPPING_DEVICE_ID] = (uint32_t)p[0];
		return true;
	case MEMORY_CALL_ATTRIBUTE:
		return attribute_fill(values, p);
	default:
		return false;
	}
}

bool memory_call_is_of_graph(enum memory_call call, const struct cupti_callback *c)
{
	const uint64_t *p = c->parameters;
	if (call == MEMORY_CALL_LAUNCH)
		return __atomic_load_n(&graphs.any, __ATOMIC_RELAXED);
	if (!p || (call != MEMORY_CALL_NODE && call != MEMORY_CALL_NODE_2))
		return false;
	const struct node_parameters *n =
		(const void *)(uintptr_t)p[call == MEMORY_CALL_NODE ? 4 : 5];
	return n && (n->type == NODE_TYPE_ALLOC || n->type == NODE_TYPE_FREE);
}

void memory_call_put(
	struct thread *t, enum memory_call call, const struct cupti_callback *c, uint32_t result)
{
	uint64_t values[CUDA_COLUMNS_MAX + 1] = {0};
	bool is_filled = false;
	if (result == OUT_OF_MEMORY && call <= MEMORY_CALL_CREATE)
		failure_put(t, call, c);
	if (result == OUT_OF_MEMORY && call == MEMORY_CALL_LAUNCH && c->parameters)
		is_filled = __atomic_load_n(&graphs.any, __ATOMIC_RELAXED) &&
			launch_fill(values, c->parameters, true);
	if (!result && c->parameters)
		is_filled =
			mapping_fill(call, c->parameters, values) || graph_fill(t, call, c, values);
	if (!is_filled)
		return;
	values[COLUMN_CUDA_MAPPING_CORRELATION_ID] = c->correlation;
	cuda_row_put(t, NUMBER_CUDA_MAPPING, clock_monotonic_ns(), 0, values);
}
