/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_frees.c - a graph that allocates and frees hundreds of blocks, beside as many ordinary
 * allocations, half of them made while no graph was known.
 *
 * A tracer that tells frees of graphs' memory from other frees by a filter of addresses must not
 * lose the other ones, some of which hit the filter.
 */
#include "tests/cuda/did.h"

#include <cuda.h>

#define BLOCKS 1000

struct did did;

/* Sizes differ, so that the distances of addresses do. */
static size_t bytes_of(int i)
{
	return (size_t)512 * (size_t)(1 + i * 7 % 11);
}

static void add_blocks(CUgraph graph)
{
	CUgraphNode node = NULL;
	for (int i = 0; i < BLOCKS; i++) {
		CUDA_MEM_ALLOC_NODE_PARAMS params = {.bytesize = bytes_of(i)};
		params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
		params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
		CHECK(cuGraphAddMemAllocNode(&node, graph, &node, i > 0, &params));
		CHECK(cuGraphAddMemFreeNode(&node, graph, &node, 1, params.dptr));
	}
}

int main(void)
{
	static CUdeviceptr blocks[BLOCKS];
	CUgraphExec exec;
	CUcontext context;
	CUstream stream;
	CUgraph graph;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < BLOCKS; i += 2)
		CHECK(cuMemAlloc(&blocks[i], bytes_of(i)));
	CHECK(cuGraphCreate(&graph, 0));
	add_blocks(graph);
	CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK(cuGraphLaunch(exec, stream));
	DID(graph_launches, 1);
	for (int i = 1; i < BLOCKS; i += 2)
		CHECK(cuMemAlloc(&blocks[i], bytes_of(i)));
	for (int i = 0; i < BLOCKS; i++)
		CHECK(cuMemFree(blocks[i]));
	CHECK(cuStreamSynchronize(stream));
	DID(syncs, 1);
	return did_end();
}
