/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_graph_memory.c - graphs that allocate and free memory, in known places.
 *
 * Run it with devices of 16 MiB (SIM_DEVICE=memory_mib=16). In order: weights of 1 MiB (leaked);
 * a graph with a temporary of 2 MiB that it frees and a result of 4 MiB that it does not, launched
 * twice, the result freed by cuMemFreeAsync() and cuMemFree(); a captured graph with a workspace of
 * 3 MiB and a temporary of 1 MiB that it frees, which frees on launch, launched twice, the
 * workspace freed by a third graph; a graph, made by cuGraphAddNode(), with 8 MiB that are never
 * freed; then the first graph again (the peak: 13 MiB). A graph that wants 12 MiB fails. In between
 * it reads what the device has for graphs, and trims it.
 */
#include "tests/cuda/did.h"

#include <cuda.h>
#include <nvtx3/nvToolsExt.h>

#define MIB ((size_t)1 << 20)
#define PLACE __attribute__((noinline, visibility("default")))

struct did did;
static CUstream stream;

/* Add a node that allocates memory, after `before`, which becomes the new node. */
PLACE CUdeviceptr node_alloc(CUgraph graph, CUgraphNode *before, size_t bytes)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = {.bytesize = bytes};
	params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	CHECK(cuGraphAddMemAllocNode(before, graph, before, *before != NULL, &params));
	__asm__ volatile("");
	return params.dptr;
}

PLACE CUdeviceptr add_temporary(CUgraph graph, CUgraphNode *before)
{
	CUdeviceptr address = node_alloc(graph, before, 2 * MIB);
	CHECK(cuGraphAddMemFreeNode(before, graph, before, 1, address));
	RIGHT(cuGraphAddMemFreeNode(before, graph, before, 1, address) == CUDA_ERROR_INVALID_VALUE);
	return address;
}

PLACE CUdeviceptr add_result(CUgraph graph, CUgraphNode *before)
{
	CUdeviceptr address = node_alloc(graph, before, 4 * MIB);
	__asm__ volatile("");
	return address;
}

static CUgraphExec instantiate(CUgraph graph, unsigned long long flags)
{
	CUgraphExec exec;
	CHECK(cuGraphInstantiateWithFlags(&exec, graph, flags));
	return exec;
}

static void launch(CUgraphExec exec)
{
	CHECK(cuGraphLaunch(exec, stream));
	DID(graph_launches, 1);
}

static CUgraphExec first_graph(CUdeviceptr *ret_result)
{
	CUgraphNode node = NULL;
	CUgraph graph;
	CUgraphExec again;
	CHECK(cuGraphCreate(&graph, 0));
	nvtxRangePushA("build");
	add_temporary(graph, &node);
	*ret_result = add_result(graph, &node);
	nvtxRangePop();
	CUgraphExec exec = instantiate(graph, 0);
	RIGHT(cuGraphInstantiateWithFlags(&again, graph, 0) != CUDA_SUCCESS);
	nvtxRangePushA("step");
	launch(exec);
	RIGHT(cuGraphLaunch(exec, stream) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemFreeAsync(*ret_result, stream));
	launch(exec);
	CHECK(cuMemFree(*ret_result));
	nvtxRangePop();
	return exec;
}

PLACE CUdeviceptr capture_workspace(void)
{
	CUdeviceptr address, temporary;
	CHECK(cuMemAllocAsync(&address, 3 * MIB, stream));
	CHECK(cuMemAllocAsync(&temporary, MIB, stream));
	CHECK(cuMemFreeAsync(temporary, stream));
	return address;
}

static void captured_graph(void)
{
	CUgraph graph, other;
	CUgraphNode node = NULL;
	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CUdeviceptr workspace = capture_workspace();
	CHECK(cuStreamEndCapture(stream, &graph));
	CUgraphExec exec = instantiate(graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
	launch(exec);
	launch(exec);
	CHECK(cuGraphCreate(&other, 0));
	CHECK(cuGraphAddMemFreeNode(&node, other, NULL, 0, workspace));
	launch(instantiate(other, 0));
}

PLACE void leak_by_graph(void)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
	CUgraphNode node;
	CUgraph graph;
	params.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	params.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	params.alloc.bytesize = 8 * MIB;
	CHECK(cuGraphCreate(&graph, 0));
	CHECK(cuGraphAddNode(&node, graph, NULL, NULL, 0, &params));
	RIGHT(params.alloc.dptr);
	launch(instantiate(graph, 0));
}

PLACE void want_too_much(void)
{
	CUgraphNode node = NULL;
	CUgraph graph;
	CHECK(cuGraphCreate(&graph, 0));
	node_alloc(graph, &node, 12 * MIB);
	CUgraphExec exec = instantiate(graph, 0);
	nvtxRangePushA("too much");
	RIGHT(cuGraphLaunch(exec, stream) == CUDA_ERROR_OUT_OF_MEMORY);
	nvtxRangePop();
}

static size_t attribute(CUgraphMem_attribute which)
{
	cuuint64_t value;
	CHECK(cuDeviceGetGraphMemAttribute(0, which, &value));
	return (size_t)value;
}

int main(void)
{
	CUdeviceptr weights, result, again;
	CUcontext context;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&weights, MIB));
	CUgraphExec first = first_graph(&result);
	captured_graph();
	RIGHT(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == 0);
	RIGHT(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 4 * MIB);
	CHECK(cuDeviceGraphMemTrim(0));
	RIGHT(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 0);
	leak_by_graph();
	launch(first);
	want_too_much();
	RIGHT(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) == 12 * MIB);
	CHECK(cuMemFree(result));
	RIGHT(cuMemAlloc(&again, 8 * MIB) == CUDA_ERROR_OUT_OF_MEMORY);
	CHECK(cuStreamSynchronize(stream));
	DID(syncs, 1);
	return did_end();
}
