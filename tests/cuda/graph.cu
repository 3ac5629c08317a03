/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.cu - launches two graphs several times, one captured from two streams, one built node by
 * node.
 *
 * Usage: graph [LAUNCHES=5]
 */
#include "tests/cuda/did.h"
#include "tests/sim/kernel.h"

#include <cuda_runtime.h>
#include <vector>

struct did did;

static const int count = 4096;
static const size_t bytes = count * sizeof(int);

extern "C" __global__ void add_to(int *values, int amount, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		values[i] += amount;
}

/* The kernel for the simulated device. */
static void emulate(const uint32_t *, const uint32_t *, void **arguments)
{
	int *values = *(int **)arguments[0];

	for (int i = 0; i < *(int *)arguments[2]; i++)
		values[i] += *(int *)arguments[1];
}
extern "C" const struct sim_kernel sim_kernel_add_to = {emulate, {8, 4, 4}};

static void launch(cudaGraph_t graph, cudaStream_t stream, int launches, int kernels)
{
	cudaGraphExec_t exec;

	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < launches; i++) {
		CHECK(cudaGraphLaunch(exec, stream));
		DID(graph_launches, 1);
		DID(graph_kernels, kernels);
	}
	CHECK(cudaStreamSynchronize(stream));
	DID(syncs, 1);
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
}

/* Capture three kernels: one, then one in each of two streams. */
static void captured(cudaStream_t stream, int *a, int *b, int launches)
{
	cudaEvent_t fork, join;
	cudaStream_t side;
	cudaGraph_t graph;

	CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	add_to<<<16, 256, 0, stream>>>(a, 1, count);
	CHECK(cudaEventRecord(fork, stream));
	CHECK(cudaStreamWaitEvent(side, fork, 0));
	add_to<<<16, 256, 0, stream>>>(a, 1, count);
	add_to<<<16, 256, 0, side>>>(b, 5, count);
	CHECK(cudaEventRecord(join, side));
	CHECK(cudaStreamWaitEvent(stream, join, 0));
	CHECK(cudaStreamEndCapture(stream, &graph));
	launch(graph, stream, launches, 3);
	CHECK(cudaEventDestroy(fork));
	CHECK(cudaEventDestroy(join));
	CHECK(cudaStreamDestroy(side));
}

/* Build a graph of a set, a kernel and a copy back, one after the other. */
static void built(cudaStream_t stream, int *a, int *result, int launches)
{
	cudaGraph_t graph;
	cudaGraphNode_t set, kernel, copy;
	int amount = 9, size = count;
	void *arguments[] = {&a, &amount, &size};
	cudaMemsetParams memset_params = {};
	cudaKernelNodeParams kernel_params = {};

	memset_params.dst = a;
	memset_params.elementSize = 4;
	memset_params.width = count;
	memset_params.height = 1;
	kernel_params.func = (void *)add_to;
	kernel_params.gridDim = dim3(16);
	kernel_params.blockDim = dim3(256);
	kernel_params.kernelParams = arguments;
	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddMemsetNode(&set, graph, NULL, 0, &memset_params));
	CHECK(cudaGraphAddKernelNode(&kernel, graph, &set, 1, &kernel_params));
	CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, result, a, bytes, cudaMemcpyDeviceToHost));
	launch(graph, stream, launches, 1);
}

int main(int argc, char **argv)
{
	int launches = argc > 1 ? atoi(argv[1]) : 5;
	std::vector<int> result(count), other(count);
	cudaStream_t stream;
	int *a, *b;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&a, bytes));
	CHECK(cudaMalloc(&b, bytes));
	CHECK(cudaMemset(a, 0, bytes));
	CHECK(cudaMemset(b, 0, bytes));
	DID(sets, 2);
	CHECK(cudaDeviceSynchronize());
	DID(syncs, 1);
	captured(stream, a, b, launches);
	CHECK(cudaMemcpy(result.data(), a, bytes, cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpy(other.data(), b, bytes, cudaMemcpyDeviceToHost));
	DID(copies_dtoh, 2);
	RIGHT(result[0] == 2 * launches && result[count - 1] == 2 * launches);
	RIGHT(other[0] == 5 * launches && other[count - 1] == 5 * launches);
	built(stream, a, result.data(), launches);
	RIGHT(result[0] == 9 && result[count - 1] == 9);
	CHECK(cudaFree(a));
	CHECK(cudaFree(b));
	CHECK(cudaStreamDestroy(stream));
	return did_end();
}
