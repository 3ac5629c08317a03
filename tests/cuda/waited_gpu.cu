/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waited_gpu.cu - kernels whose critical path is known. On the simulated device a kernel takes a
 * time that depends on its threads, and does nothing.
 *
 * Usage: waited_gpu event|ordered|devices|graph|copy
 */
#include "tests/cuda/did.h"

#include <cuda_runtime.h>
#include <string.h>
#include <vector>

struct did did;

__global__ void first(void) {}
__global__ void second(void) {}
__global__ void third(void) {}
__global__ void aside(void) {}

/* Launch a kernel that takes so many ms on the simulated device. */
static void launch(void (*kernel)(void), int ms, cudaStream_t stream)
{
	CHECK(cudaLaunchKernel((void *)kernel, dim3(ms * 8000), dim3(1000), NULL, 0, stream));
	DID(kernels, 1);
}

static cudaStream_t stream_new(void)
{
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	return stream;
}

/* Let a stream wait for what another one, of any device, has to do now. */
static void wait_for(cudaStream_t stream, cudaStream_t other)
{
	cudaEvent_t event;

	CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	CHECK(cudaEventRecord(event, other));
	CHECK(cudaStreamWaitEvent(stream, event, 0));
}

static void sync(cudaStream_t stream)
{
	CHECK(cudaStreamSynchronize(stream));
	DID(syncs, 1);
}

/* The second stream waits for the first one, which goes on with something else. */
static void event(void)
{
	cudaStream_t one = stream_new(), other = stream_new();

	launch(third, 20, one);
	launch(first, 5, other);
	wait_for(other, one);
	launch(aside, 2, one);
	launch(second, 10, other);
	sync(other);
}

/* The default stream waits for a stream that blocks it, and that for the default stream. */
static void ordered(void)
{
	cudaStream_t other;

	CHECK(cudaStreamCreate(&other));
	launch(third, 20, other);
	launch(second, 10, NULL);
	launch(first, 5, other);
	sync(other);
}

/* The thread waits for one device before it launches on the other one. */
static void devices(void)
{
	cudaStream_t one = stream_new();

	CHECK(cudaSetDevice(1));
	cudaStream_t other = stream_new();
	launch(first, 5, other);
	CHECK(cudaSetDevice(0));
	launch(third, 20, one);
	sync(one);
	CHECK(cudaSetDevice(1));
	launch(second, 10, other);
	CHECK(cudaDeviceSynchronize());
	DID(syncs, 1);
}

/* A graph whose middle has two kernels beside each other: the longer one is on the path. */
static void graph(void)
{
	cudaStream_t stream = stream_new(), side = stream_new();
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	launch(first, 5, stream);
	wait_for(side, stream);
	launch(aside, 2, stream);
	launch(aside, 2, stream);
	launch(third, 20, side);
	wait_for(stream, side);
	launch(second, 10, stream);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 2; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	DID(graph_launches, 2);
	sync(stream);
}

/* A copy that waits for the kernel before it in its stream. */
static void copy(void)
{
	std::vector<int> result(1 << 10);
	int *values;

	CHECK(cudaMalloc(&values, 4 << 10));
	launch(third, 20, NULL);
	CHECK(cudaMemcpy(result.data(), values, 4 << 10, cudaMemcpyDeviceToHost));
	DID(copies_dtoh, 1);
	launch(first, 5, NULL);
	CHECK(cudaDeviceSynchronize());
	DID(syncs, 1);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "event"))
		event();
	else if (!strcmp(mode, "ordered"))
		ordered();
	else if (!strcmp(mode, "devices"))
		devices();
	else if (!strcmp(mode, "graph"))
		graph();
	else if (!strcmp(mode, "copy"))
		copy();
	else
		return 2;
	return did_end();
}
