/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_memory.cu - graphs that allocate and free memory by the runtime: captured and by nodes.
 */
#include "tests/cuda/did.h"

#include <cuda_runtime_api.h>

struct did did;

static void launch(cudaGraphExec_t exec, cudaStream_t stream)
{
	CHECK(cudaGraphLaunch(exec, stream));
	DID(graph_launches, 1);
}

/* Capture an allocation that outlives the graph and one that does not. */
static void *captured(cudaStream_t stream)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	void *kept, *temporary;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	CHECK(cudaMallocAsync(&kept, 3 << 20, stream));
	CHECK(cudaMallocAsync(&temporary, 1 << 20, stream));
	CHECK(cudaFreeAsync(temporary, stream));
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
	launch(exec, stream);
	launch(exec, stream);
	return kept;
}

static void by_nodes(cudaStream_t stream, void *to_free)
{
	struct cudaMemAllocNodeParams params = {};
	cudaGraphNode_t node, last;
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	unsigned long long held;

	params.poolProps.allocType = cudaMemAllocationTypePinned;
	params.poolProps.location.type = cudaMemLocationTypeDevice;
	params.bytesize = 2 << 20;
	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
	CHECK(cudaGraphAddMemFreeNode(&last, graph, &node, 1, to_free));
	CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
	launch(exec, stream);
	CHECK(cudaFree(params.dptr));
	CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &held));
	RIGHT(held == 6 << 20);
	CHECK(cudaDeviceGraphMemTrim(0));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
}

int main(void)
{
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	by_nodes(stream, captured(stream));
	CHECK(cudaStreamSynchronize(stream));
	DID(syncs, 1);
	return did_end();
}
