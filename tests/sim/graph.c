/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.c - graphs: built by hand or by capture, instantiated as a clone, launched as one piece of
 * work on a stream's timeline.
 */
#include "tests/sim/driver.h"
#include "tests/sim/truth.h"
#include "impl.h"

#include <cupti_callbacks.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPENDENCIES = 8 };

struct CUgraphNode_st {
	uint64_t id; /* graph << 32 | number in it */
	CUgraph graph;
	struct work work;
	CUgraphNode dependencies[MAX_DEPENDENCIES];
	size_t dependency_count;
	CUgraphNode original;   /* the node from which this node was cloned */
	CUgraphNode clone;      /* while the graph is being cloned */
	uint64_t ends_after_ns; /* within one launch */
	CUgraphNode next;
};

struct CUgraph_st {
	uint32_t id, node_count;
	CUgraphNode nodes,
		*last;   /* in the order in which they were added, which the dependencies allow */
	bool has_memory; /* it has nodes that allocate or free memory */
	bool is_instantiated; /* it has memory nodes, and an instantiation */
};

struct CUgraphExec_st {
	uint32_t id;
	CUgraph graph; /* a clone of the graph that was instantiated */
	CUgraph original;
	bool frees_on_launch; /* CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH */
};

static _Atomic uint32_t last_graph_id, last_exec_id;
static atomic_bool whole_graphs;

void graph_log_whole(bool whole)
{
	whole_graphs = whole;
}

uint32_t graph_id_of(void *graph)
{
	return graph ? ((CUgraph)graph)->id : 0;
}

uint32_t graph_exec_id_of(void *exec)
{
	return exec ? ((CUgraphExec)exec)->id : 0;
}

uint64_t graph_node_id_of(void *node)
{
	return node ? ((CUgraphNode)node)->id : 0;
}

static void log_graph(uint32_t cbid, CUgraph graph, CUgraph original, CUgraphExec exec)
{
	struct sim_resource resource = {.cbid = cbid,
		.context = driver_context(),
		.graph = graph,
		.original_graph = original,
		.graph_exec = exec,
		.correlation = sim_correlation()};

	sim_log_resource(&resource);
}

static void log_node(uint32_t cbid, CUgraphNode node, CUgraphNode original, CUgraphNode dependency)
{
	struct sim_resource resource = {.cbid = cbid,
		.context = driver_context(),
		.graph = node->graph,
		.original_graph = original ? original->graph : NULL,
		.node = node,
		.original_node = original,
		.dependency = dependency,
		.node_type = node->work.type,
		.correlation = sim_correlation()};

	sim_log_resource(&resource);
}

/* Copy the arguments of a kernel for a graph, as far as the program gave their sizes. */
static void **copy_arguments(const struct work *work)
{
	const struct sim_kernel *emulation = work->function ? work->function->emulation : NULL;
	size_t count = 0;
	void **copies;

	if (!emulation || !work->arguments)
		return NULL;
	while (count < SIM_KERNEL_MAX_ARGUMENTS && emulation->argument_bytes[count])
		count++;
	copies = calloc(count + 1, sizeof *copies);
	for (size_t i = 0; copies && i < count; i++) {
		copies[i] = malloc(emulation->argument_bytes[i]);
		if (copies[i])
			memcpy(copies[i], work->arguments[i], emulation->argument_bytes[i]);
	}
	return copies;
}

static bool is_memory(const struct CUgraphNode_st *node)
{
	return node->work.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
		node->work.type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

static CUgraphNode node_new(CUgraph graph, const struct work *work)
{
	CUgraphNode node = calloc(1, sizeof *node);

	if (!node)
		return NULL;
	node->graph = graph;
	node->work = *work;
	node->work.arguments = copy_arguments(work);
	node->id = (uint64_t)graph->id << 32 | graph->node_count++;
	*graph->last = node;
	graph->last = &node->next;
	graph->has_memory |= is_memory(node);
	return node;
}

CUgraphNode graph_add(
	CUgraph graph, const struct work *work, const CUgraphNode *dependencies, size_t count)
{
	CUgraphNode node;

	if (count > MAX_DEPENDENCIES)
		return NULL;
	node = node_new(graph, work);
	if (!node)
		return NULL;
	log_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, node, NULL, NULL);
	for (size_t i = 0; i < count; i++) {
		node->dependencies[node->dependency_count++] = dependencies[i];
		log_node(CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED, node, NULL,
			dependencies[i]);
	}
	return node;
}

static CUgraph graph_new(void)
{
	CUgraph graph = calloc(1, sizeof *graph);

	if (!graph)
		return NULL;
	graph->id = ++last_graph_id;
	graph->node_count = 1;
	graph->last = &graph->nodes;
	return graph;
}

CUresult impl_cuGraphCreate(CUgraph *ret_graph, unsigned int flags)
{
	(void)flags;
	*ret_graph = graph_new();
	if (!*ret_graph)
		return CUDA_ERROR_OUT_OF_MEMORY;
	log_graph(CUPTI_CBID_RESOURCE_GRAPH_CREATED, *ret_graph, NULL, NULL);
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphDestroy(CUgraph graph)
{
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	log_graph(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, graph, NULL, NULL);
	return CUDA_SUCCESS; /* handles stay valid: a tool may still ask for their ids */
}

static CUresult graph_clone(CUgraph *ret_clone, CUgraph original)
{
	CUgraph clone = graph_new();

	if (!clone)
		return CUDA_ERROR_OUT_OF_MEMORY;
	log_graph(CUPTI_CBID_RESOURCE_GRAPH_CLONED, clone, original, NULL);
	for (CUgraphNode node = original->nodes; node; node = node->next) {
		node->clone = node_new(clone, &node->work);
		if (!node->clone)
			return CUDA_ERROR_OUT_OF_MEMORY;
		node->clone->original = node;
		for (size_t i = 0; i < node->dependency_count; i++)
			node->clone->dependencies[node->clone->dependency_count++] =
				node->dependencies[i]->clone;
		log_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, node->clone, node, NULL);
	}
	*ret_clone = clone;
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphClone(CUgraph *ret_clone, CUgraph original)
{
	return original->has_memory ? CUDA_ERROR_NOT_SUPPORTED : graph_clone(ret_clone, original);
}

/* ---- nodes ---- */

static CUresult add(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
	size_t count, const struct work *work)
{
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_node = graph_add(graph, work, dependencies, count);
	return *ret_node ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult impl_cuGraphAddKernelNode_v2(CUgraphNode *ret_node, CUgraph graph,
	const CUgraphNode *dependencies, size_t count, const CUDA_KERNEL_NODE_PARAMS *params)
{
	const uint32_t grid[3] = {params->gridDimX, params->gridDimY, params->gridDimZ};
	const uint32_t block[3] = {params->blockDimX, params->blockDimY, params->blockDimZ};
	CUfunction function = params->func ? params->func : (CUfunction)params->kern;
	struct work work;
	CUresult result = kernel_prepare(
		&work, function, grid, block, params->sharedMemBytes, params->kernelParams);

	return result ? result : add(ret_node, graph, dependencies, count, &work);
}

CUresult impl_cuGraphAddMemcpyNode(CUgraphNode *ret_node, CUgraph graph,
	const CUgraphNode *dependencies, size_t count, const CUDA_MEMCPY3D *params,
	CUcontext context)
{
	bool to_host = params->dstMemoryType == CU_MEMORYTYPE_HOST;
	bool from_host = params->srcMemoryType == CU_MEMORYTYPE_HOST;
	struct work work;

	(void)context;
	if (params->Height > 1 || params->Depth > 1)
		return CUDA_ERROR_NOT_SUPPORTED;
	copy_prepare(&work, to_host ? (uintptr_t)params->dstHost : (uintptr_t)params->dstDevice,
		from_host ? (uintptr_t)params->srcHost : (uintptr_t)params->srcDevice,
		params->WidthInBytes, 0);
	work.op.copy.async = true;
	return add(ret_node, graph, dependencies, count, &work);
}

CUresult impl_cuGraphAddMemsetNode(CUgraphNode *ret_node, CUgraph graph,
	const CUgraphNode *dependencies, size_t count, const CUDA_MEMSET_NODE_PARAMS *params,
	CUcontext context)
{
	struct work work;

	(void)context;
	if (params->height > 1)
		return CUDA_ERROR_NOT_SUPPORTED;
	set_prepare(&work, (uintptr_t)params->dst, params->value, params->elementSize,
		params->width * params->elementSize);
	work.op.set.async = true;
	return add(ret_node, graph, dependencies, count, &work);
}

CUresult impl_cuGraphAddEmptyNode(
	CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies, size_t count)
{
	struct work work = {.type = CU_GRAPH_NODE_TYPE_EMPTY};

	return add(ret_node, graph, dependencies, count, &work);
}

CUresult impl_cuGraphAddMemAllocNode(CUgraphNode *ret_node, CUgraph graph,
	const CUgraphNode *dependencies, size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	const CUmemLocation *location = &params->poolProps.location;
	struct sim_device *device =
		location->type == CU_MEM_LOCATION_TYPE_DEVICE ? sim_device(location->id) : NULL;
	struct work work;

	if (!graph || !device || !params->bytesize)
		return CUDA_ERROR_INVALID_VALUE;
	params->dptr = graph_memory_new(params->bytesize, &device->primary, graph);
	if (!params->dptr)
		return CUDA_ERROR_OUT_OF_MEMORY;
	graph_memory_prepare(
		&work, CU_GRAPH_NODE_TYPE_MEM_ALLOC, (uintptr_t)params->dptr, params->bytesize);
	return add(ret_node, graph, dependencies, count, &work);
}

CUresult impl_cuGraphAddMemFreeNode(CUgraphNode *ret_node, CUgraph graph,
	const CUgraphNode *dependencies, size_t count, CUdeviceptr address)
{
	CUresult result = graph ? graph_memory_free_node((uintptr_t)address, graph)
				: CUDA_ERROR_INVALID_VALUE;
	struct work work;

	if (result)
		return result;
	graph_memory_prepare(&work, CU_GRAPH_NODE_TYPE_MEM_FREE, (uintptr_t)address, 0);
	return add(ret_node, graph, dependencies, count, &work);
}

CUresult impl_cuGraphAddNode_v2(CUgraphNode *ret_node, CUgraph graph,
	const CUgraphNode *dependencies, const CUgraphEdgeData *edges, size_t count,
	CUgraphNodeParams *params)
{
	CUDA_MEM_ALLOC_NODE_PARAMS own = {.bytesize = params->alloc.bytesize};
	CUresult result;

	if (edges)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (params->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
		return impl_cuGraphAddMemFreeNode(
			ret_node, graph, dependencies, count, params->free.dptr);
	if (params->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return CUDA_ERROR_NOT_SUPPORTED;
	own.poolProps = params->alloc.poolProps;
	result = impl_cuGraphAddMemAllocNode(ret_node, graph, dependencies, count, &own);
	params->alloc.dptr = own.dptr;
	return result;
}

static void act_host(struct work *work)
{
	work->host(work->host_data);
}

CUresult impl_cuGraphAddHostNode(CUgraphNode *ret_node, CUgraph graph,
	const CUgraphNode *dependencies, size_t count, const CUDA_HOST_NODE_PARAMS *params)
{
	struct work work = {.type = CU_GRAPH_NODE_TYPE_HOST,
		.act = act_host,
		.host = params->fn,
		.host_data = params->userData};

	return add(ret_node, graph, dependencies, count, &work);
}

CUresult impl_cuGraphGetNodes(CUgraph graph, CUgraphNode *ret_nodes, size_t *count)
{
	size_t room = *count;

	*count = 0;
	for (CUgraphNode node = graph->nodes; node; node = node->next) {
		if (ret_nodes && *count < room)
			ret_nodes[*count] = node;
		++*count;
	}
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *ret_type)
{
	*ret_type = node->work.type;
	return CUDA_SUCCESS;
}

/* ---- capture ---- */

CUresult impl_cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode)
{
	CUstream stream = stream_of(handle);

	(void)mode;
	if (!stream || stream == &stream->context->null_stream || stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	stream->last_captured = stream->also_after = NULL;
	return impl_cuGraphCreate(&stream->capture, 0);
}

CUresult impl_cuStreamEndCapture(CUstream handle, CUgraph *ret_graph)
{
	CUstream stream = stream_of(handle);
	CUgraph graph = stream ? stream->capture : NULL;

	if (!graph)
		return CUDA_ERROR_ILLEGAL_STATE;
	pthread_mutex_lock(&driver_mutex);
	for (CUstream other = stream->context->streams; other; other = other->next)
		if (other->capture == graph) {
			other->capture = NULL;
			other->last_captured = other->also_after = NULL;
		}
	pthread_mutex_unlock(&driver_mutex);
	*ret_graph = graph;
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *ret_status)
{
	CUstream stream = stream_of(handle);

	*ret_status = stream && stream->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE
						: CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

CUresult graph_capture_alloc(CUstream stream, CUdeviceptr *ret_address, size_t bytes)
{
	struct work work;

	*ret_address = graph_memory_new(bytes, stream->context, stream->capture);
	if (!*ret_address)
		return CUDA_ERROR_OUT_OF_MEMORY;
	graph_memory_prepare(&work, CU_GRAPH_NODE_TYPE_MEM_ALLOC, (uintptr_t)*ret_address, bytes);
	return work_submit(stream, &work);
}

CUresult graph_capture_free(CUstream stream, CUdeviceptr address)
{
	CUresult result = graph_memory_free_node((uintptr_t)address, stream->capture);
	struct work work;

	if (result)
		return result;
	graph_memory_prepare(&work, CU_GRAPH_NODE_TYPE_MEM_FREE, (uintptr_t)address, 0);
	return work_submit(stream, &work);
}

/* ---- execution ---- */

CUresult impl_cuGraphInstantiateWithFlags(
	CUgraphExec *ret_exec, CUgraph graph, unsigned long long flags)
{
	CUgraphExec exec = calloc(1, sizeof *exec);
	CUresult result;

	if (!exec)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (graph->is_instantiated) {
		free(exec);
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	graph->is_instantiated = graph->has_memory;
	exec->original = graph;
	exec->frees_on_launch = flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
	exec->id = ++last_exec_id;
	log_graph(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING, graph, NULL, NULL);
	result = graph_clone(&exec->graph, graph);
	if (result)
		return result;
	log_graph(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, exec->graph, graph, exec);
	*ret_exec = exec;
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphInstantiateWithParams(
	CUgraphExec *ret_exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	return impl_cuGraphInstantiateWithFlags(ret_exec, graph, params->flags);
}

CUresult impl_cuGraphExecDestroy(CUgraphExec exec)
{
	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	exec->original->is_instantiated = false;
	log_graph(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, exec->graph, NULL, exec);
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphExecKernelNodeSetParams_v2(
	CUgraphExec exec, CUgraphNode original, const CUDA_KERNEL_NODE_PARAMS *params)
{
	const uint32_t grid[3] = {params->gridDimX, params->gridDimY, params->gridDimZ};
	const uint32_t block[3] = {params->blockDimX, params->blockDimY, params->blockDimZ};
	CUfunction function = params->func ? params->func : (CUfunction)params->kern;
	CUgraphNode node = exec->graph->nodes;
	struct work work;
	CUresult result = kernel_prepare(
		&work, function, grid, block, params->sharedMemBytes, params->kernelParams);

	while (node && node->original != original)
		node = node->next;
	if (result || !node)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	work.arguments = copy_arguments(&work);
	node->work = work;
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphUpload(CUgraphExec exec, CUstream stream)
{
	return exec && stream_of(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Each node begins when all nodes that it depends on have ended; the graph lasts until its last
 * node has ended. */
static uint64_t plan(CUgraph graph)
{
	uint64_t longest = 0;

	for (CUgraphNode node = graph->nodes; node; node = node->next) {
		uint64_t start = 0;

		for (size_t i = 0; i < node->dependency_count; i++)
			if (node->dependencies[i]->ends_after_ns > start)
				start = node->dependencies[i]->ends_after_ns;
		node->ends_after_ns = start + node->work.duration_ns;
		if (node->ends_after_ns > longest)
			longest = node->ends_after_ns;
	}
	return longest;
}

/* Log the graph and its nodes; notify the tool of either the graph or the nodes. */
static void log_part(const struct sim_op *op, bool wanted)
{
	const struct sim_tool *tool = sim_tool();

	truth_op(op);
	if (tool && wanted)
		tool->op(op);
}

static void run_memory(CUgraphNode node, const struct sim_op *whole)
{
	struct sim_op place = *whole;

	place.graph_node = node->id;
	if (node->work.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		graph_memory_take(node->work.target, &place);
	else
		graph_memory_give_back(node->work.target, &place);
}

static void run_node(CUgraphNode node, const struct sim_op *whole)
{
	struct sim_op op = node->work.op;

	if (is_memory(node)) {
		run_memory(node, whole);
		return;
	}
	if (node->work.act)
		node->work.act(&node->work);
	if (node->work.type == CU_GRAPH_NODE_TYPE_EMPTY ||
		node->work.type == CU_GRAPH_NODE_TYPE_HOST)
		return;
	op.end_ns = whole->start_ns + node->ends_after_ns;
	op.start_ns = op.end_ns - node->work.duration_ns;
	op.device = whole->device;
	op.context = whole->context;
	op.stream = whole->stream;
	op.correlation = whole->correlation;
	op.graph = node->graph->id;
	op.graph_node = node->id;
	log_part(&op, !whole_graphs);
}

/* Return why the memory nodes of a graph cannot run, each in its turn, or CUDA_SUCCESS. */
static CUresult memory_check(CUgraphExec exec, const struct sim_device *device)
{
	uint64_t free_bytes =
		device->facts.memory_bytes - __atomic_load_n(&device->used_bytes, __ATOMIC_RELAXED);

	for (CUgraphNode node = exec->graph->nodes; node; node = node->next) {
		if (node->work.type != CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
			!graph_memory_is_used(node->work.target))
			continue;
		if (!exec->frees_on_launch)
			return CUDA_ERROR_INVALID_VALUE;
		free_bytes += node->work.bytes; /* freed before the first node */
	}
	for (CUgraphNode node = exec->graph->nodes; node; node = node->next) {
		if (node->work.type == CU_GRAPH_NODE_TYPE_MEM_FREE)
			free_bytes += memory_find(node->work.target)->bytes;
		if (node->work.type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)
			continue;
		if (node->work.bytes > free_bytes)
			return CUDA_ERROR_OUT_OF_MEMORY;
		free_bytes -= node->work.bytes;
	}
	return CUDA_SUCCESS;
}

/* Free what the last launch allocated and nobody freed. */
static void memory_free_before(CUgraphExec exec, const struct sim_op *whole)
{
	for (CUgraphNode node = exec->graph->nodes; node; node = node->next)
		if (node->work.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
			graph_memory_is_used(node->work.target))
			graph_memory_give_back(node->work.target, whole);
}

CUresult impl_cuGraphLaunch(CUgraphExec exec, CUstream handle)
{
	CUresult result;
	CUstream stream = stream_of(handle);
	struct sim_op whole = {.kind = SIM_GRAPH};

	if (!exec || !stream)
		return CUDA_ERROR_INVALID_VALUE;
	result = memory_check(exec, stream->context->device);
	if (result)
		return result;
	whole.graph = exec->graph->id;
	stream_enqueue(stream, &whole, plan(exec->graph));
	memory_free_before(exec, &whole);
	for (CUgraphNode node = exec->graph->nodes; node; node = node->next)
		run_node(node, &whole);
	log_part(&whole, whole_graphs);
	return CUDA_SUCCESS;
}
