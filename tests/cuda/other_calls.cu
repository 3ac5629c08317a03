/* SPDX-License-Identifier: Apache-2.0 */
/*
 * other_calls.cu - makes the calls that the other programs do not make: variables of device code,
 * pitched memory, host functions, launches with attributes, cooperative launches, changed nodes of
 * a graph, functions of the driver by name.
 *
 * Usage: other_calls
 */
#include "tests/cuda/did.h"
#include "tests/sim/kernel.h"

#include <cuda.h>
#include <cuda_runtime.h>

struct did did;

__device__ int factor = 3;

extern "C" __global__ void fill(int *values, int value, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		values[i] = value;
}

/* The kernel for the simulated device. */
static void emulate(const uint32_t *, const uint32_t *, void **arguments)
{
	int *values = *(int **)arguments[0];

	for (int i = 0; i < *(int *)arguments[2]; i++)
		values[i] = *(int *)arguments[1];
}
extern "C" const struct sim_kernel sim_kernel_fill = {emulate, {8, 4, 4}};

static const int count = 1000;
static int called;

static void is_called(void *)
{
	called++;
}

static void is_called_back(cudaStream_t, cudaError_t, void *)
{
	called++;
}

static void variables(void)
{
	int value = 0;
	size_t bytes = 0;

	CHECK(cudaGetSymbolSize(&bytes, factor));
	RIGHT(bytes == sizeof factor);
	CHECK(cudaMemcpyFromSymbol(&value, factor, sizeof value));
	RIGHT(value == 3);
	value = 8;
	CHECK(cudaMemcpyToSymbol(factor, &value, sizeof value));
	value = 0;
	CHECK(cudaMemcpyFromSymbol(&value, factor, sizeof value));
	RIGHT(value == 8);
	DID(copies_dtoh, 2);
	DID(copies_htod, 1);
}

static void pitched(void)
{
	const size_t width = 100, height = 7;
	unsigned char rows[height][width], *on_device;
	size_t pitch;

	CHECK(cudaMallocPitch(&on_device, &pitch, width, height));
	CHECK(cudaMemset2D(on_device, pitch, 0x5a, width, height));
	DID(sets, 1);
	CHECK(cudaMemcpy2D(rows, width, on_device, pitch, width, height, cudaMemcpyDeviceToHost));
	DID(copies_dtoh, 1);
	RIGHT(rows[0][0] == 0x5a && rows[height - 1][width - 1] == 0x5a);
	CHECK(cudaFree(on_device));
}

static int last_of(const int *values, cudaStream_t stream)
{
	int last;

	CHECK(cudaMemcpyAsync(&last, values + count - 1, sizeof last, cudaMemcpyDeviceToHost, stream));
	DID(copies_dtoh, 1);
	CHECK(cudaStreamSynchronize(stream));
	DID(syncs, 1);
	return last;
}

static void launches(cudaStream_t stream, int *values)
{
	cudaLaunchConfig_t config = {};
	int value = 21, size = count;
	void *arguments[] = {&values, &value, &size};

	config.gridDim = dim3(8);
	config.blockDim = dim3(128);
	config.stream = stream;
	CHECK(cudaLaunchKernelExC(&config, (const void *)fill, arguments));
	RIGHT(last_of(values, stream) == 21);
	value = 22;
	CHECK(cudaLaunchCooperativeKernel((const void *)fill, dim3(8), dim3(128), arguments, 0, stream));
	DID(kernels, 2);
	RIGHT(last_of(values, stream) == 22);
	CHECK(cudaLaunchHostFunc(stream, is_called, NULL));
	CHECK(cudaStreamAddCallback(stream, is_called_back, NULL, 0));
	CHECK(cudaStreamSynchronize(stream));
	DID(syncs, 1);
	RIGHT(called == 2);
}

static void changed_graph(cudaStream_t stream, int *values)
{
	cudaGraph_t graph, clone;
	cudaGraphExec_t exec;
	cudaGraphNode_t node;
	int value = 31, size = count;
	void *arguments[] = {&values, &value, &size};
	cudaKernelNodeParams params = {};

	params.func = (void *)fill;
	params.gridDim = dim3(8);
	params.blockDim = dim3(128);
	params.kernelParams = arguments;
	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &params));
	CHECK(cudaGraphClone(&clone, graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, stream));
	RIGHT(last_of(values, stream) == 31);
	value = 32;
	CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
	CHECK(cudaGraphLaunch(exec, stream));
	RIGHT(last_of(values, stream) == 32);
	DID(graph_launches, 2);
	DID(graph_kernels, 2);
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(clone));
	CHECK(cudaGraphDestroy(graph));
}

static void by_name(void)
{
	cudaDriverEntryPointQueryResult status;
	CUresult (*get_count)(int *) = NULL;
	int devices = 0;

	CHECK(cudaGetDriverEntryPointByVersion("cuDeviceGetCount", (void **)&get_count, 13000, cudaEnableDefault, &status));
	RIGHT(status == cudaDriverEntryPointSuccess && get_count && !get_count(&devices) && devices > 0);
}

int main()
{
	cudaStream_t stream;
	int *values;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&values, count * sizeof *values));
	variables();
	pitched();
	launches(stream, values);
	changed_graph(stream, values);
	by_name();
	CHECK(cudaFree(values));
	CHECK(cudaStreamDestroy(stream));
	return did_end();
}
