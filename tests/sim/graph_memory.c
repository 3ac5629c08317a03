/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_memory.c - memory of graphs: allocation and free nodes, and what a device holds for them.
 *
 * As CUDA documents it (cuda.h, cuGraphAddMemAllocNode): the address is fixed when the node is
 * created, memory is in use from a launch on. What launches allocate and free is done when they are
 * submitted, like all work here. Memory that was freed stays held until it is trimmed
 * (cuDeviceGraphMemTrim); it is not counted as used, as in pools.
 */
#include "tests/sim/driver.h"
#include "tests/sim/truth.h"
#include "impl.h"

#include <cupti_activity.h>
#include <stdlib.h>

#define GRANULE ((uint64_t)2 << 20) /* bytes by which the held memory grows */

struct graph_memory {
	CUgraph owner, freed_in;
	bool is_used;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

uintptr_t graph_memory_new(size_t bytes, CUcontext context, CUgraph graph)
{
	struct allocation *allocation = calloc(1, sizeof *allocation);
	struct graph_memory *of_graph = calloc(1, sizeof *of_graph);
	void *memory = NULL;

	if (!allocation || !of_graph || posix_memalign(&memory, 512, bytes)) {
		free(allocation);
		free(of_graph);
		return 0;
	}
	of_graph->owner = graph;
	*allocation = (struct allocation){.address = (uintptr_t)memory,
		.bytes = bytes,
		.kind = MEMORY_DEVICE,
		.context = context,
		.of_graph = of_graph};
	memory_list_add(allocation);
	return (uintptr_t)memory;
}

/* Return the allocation that begins at the address, or NULL if no node allocates it. */
static struct allocation *find(uintptr_t address)
{
	struct allocation *found = memory_find(address);

	return found && found->of_graph && found->address == address ? found : NULL;
}

CUresult graph_memory_free_node(uintptr_t address, CUgraph graph)
{
	struct allocation *found = find(address);
	struct graph_memory *m = found ? found->of_graph : NULL;

	if (!m || m->freed_in == graph || (m->freed_in && m->freed_in == m->owner) ||
		(m->freed_in && graph == m->owner))
		return CUDA_ERROR_INVALID_VALUE;
	m->freed_in = graph;
	return CUDA_SUCCESS;
}

bool graph_memory_is_used(uintptr_t address)
{
	const struct allocation *found = find(address);

	return found && found->of_graph->is_used;
}

void graph_memory_prepare(struct work *work, CUgraphNodeType type, uintptr_t address, size_t bytes)
{
	*work = (struct work){
		.type = type, .op = {.kind = SIM_MEMORY}, .target = address, .bytes = bytes};
}

/* Report a change. CUPTI's records are an option: its headers do not say what it has. */
static void change_log(const struct allocation *a, uint8_t operation, const struct sim_op *place)
{
	struct sim_op op = {.kind = SIM_MEMORY,
		.start_ns = sim_now_ns(),
		.device = a->context->device->facts.ordinal,
		.context = a->context->id,
		.stream = place ? place->stream : 0,
		.correlation = sim_correlation(),
		.graph = place ? place->graph : 0,
		.graph_node = place ? place->graph_node : 0,
		.memory = {.operation = operation,
			.memory_kind = MEMORY_DEVICE,
			.async = place != NULL,
			.address = a->address,
			.bytes = a->bytes,
			.used_bytes = __atomic_load_n(
				&a->context->device->used_bytes, __ATOMIC_RELAXED)}};

	op.end_ns = op.start_ns;
	if (sim_option(SIM_OPTION_graph_memory_records))
		sim_log_op(&op);
	else
		truth_op(&op);
}

static uint64_t rounded(uint64_t bytes)
{
	return (bytes + GRANULE - 1) / GRANULE * GRANULE;
}

static void use(struct sim_device *device, size_t bytes)
{
	device->graph_used_bytes += bytes;
	if (device->graph_used_bytes > device->graph_used_high)
		device->graph_used_high = device->graph_used_bytes;
	if (rounded(device->graph_used_bytes) > device->graph_held_bytes)
		device->graph_held_bytes = rounded(device->graph_used_bytes);
	if (device->graph_held_bytes > device->graph_held_high)
		device->graph_held_high = device->graph_held_bytes;
}

CUresult graph_memory_take(uintptr_t address, const struct sim_op *place)
{
	struct allocation *a = find(address);
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&mutex);
	if (!a || a->of_graph->is_used)
		result = CUDA_ERROR_INVALID_VALUE;
	else if (!memory_count(a->context->device, a->bytes))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	if (!result) {
		a->of_graph->is_used = true;
		use(a->context->device, a->bytes);
		change_log(a, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, place);
	}
	pthread_mutex_unlock(&mutex);
	return result;
}

CUresult graph_memory_give_back(uintptr_t address, const struct sim_op *place)
{
	struct allocation *a = find(address);
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&mutex);
	if (a && a->of_graph->is_used) {
		a->of_graph->is_used = false;
		a->context->device->graph_used_bytes -= a->bytes;
		memory_uncount(a->context->device, a->bytes);
		change_log(a, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, place);
		result = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&mutex);
	return result;
}

/* ---- what a device holds ---- */

CUresult impl_cuDeviceGraphMemTrim(CUdevice ordinal)
{
	struct sim_device *device = sim_device(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&mutex);
	device->graph_held_bytes = rounded(device->graph_used_bytes);
	pthread_mutex_unlock(&mutex);
	return CUDA_SUCCESS;
}

static uint64_t *attribute_of(struct sim_device *device, CUgraphMem_attribute attribute)
{
	switch (attribute) {
	case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
		return &device->graph_used_bytes;
	case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
		return &device->graph_used_high;
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
		return &device->graph_held_bytes;
	default:
		return &device->graph_held_high;
	}
}

CUresult impl_cuDeviceGetGraphMemAttribute(
	CUdevice ordinal, CUgraphMem_attribute attribute, void *ret_value)
{
	struct sim_device *device = sim_device(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&mutex);
	*(cuuint64_t *)ret_value = *attribute_of(device, attribute);
	pthread_mutex_unlock(&mutex);
	return CUDA_SUCCESS;
}

/* Reset a high watermark: to zero, says CUDA; to what is in use now, since that is its least. */
CUresult impl_cuDeviceSetGraphMemAttribute(
	CUdevice ordinal, CUgraphMem_attribute attribute, void *value)
{
	struct sim_device *device = sim_device(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if ((attribute != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH &&
		    attribute != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) ||
		*(cuuint64_t *)value)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&mutex);
	*attribute_of(device, attribute) = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH
		? device->graph_used_bytes
		: device->graph_held_bytes;
	pthread_mutex_unlock(&mutex);
	return CUDA_SUCCESS;
}
