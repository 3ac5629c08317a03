/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipeline.cu - runs batches through copy, kernel and copy in streams of several threads; also uses
 * pools, managed memory, events between streams, and a second device if there is one.
 *
 * Usage: pipeline [THREADS=2] [BATCHES=8] [FIRST]
 *
 * FIRST: device whose context is created first; default: that of the thread that is the fastest.
 */
#include "tests/cuda/did.h"
#include "tests/sim/kernel.h"

#include <cuda_runtime.h>
#include <thread>
#include <vector>

struct did did;

static const int count = 1 << 14;
static const size_t bytes = count * sizeof(int);

template <typename T> __global__ void scale(T *values, T factor, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		values[i] *= factor;
}
template __global__ void scale<int>(int *, int, int);

/* The kernel for the simulated device. */
static void emulate(const uint32_t *, const uint32_t *, void **arguments)
{
	int *values = *(int **)arguments[0];

	for (int i = 0; i < *(int *)arguments[2]; i++)
		values[i] *= *(int *)arguments[1];
}
extern "C" const struct sim_kernel sim_kernel__Z5scaleIiEvPT_S0_i = {emulate, {8, 4, 4}};

static bool all_are(const int *values, int value)
{
	for (int i = 0; i < count; i++)
		if (values[i] != value)
			return false;
	return true;
}

/* Run one batch in a stream of its own, with memory of the pool. */
static void batch(cudaStream_t stream, int *on_host, int factor)
{
	int *values;

	CHECK(cudaMallocAsync(&values, bytes, stream));
	CHECK(cudaMemcpyAsync(values, on_host, bytes, cudaMemcpyHostToDevice, stream));
	DID(copies_htod, 1);
	scale<<<(count + 127) / 128, 128, 0, stream>>>(values, factor, count);
	CHECK(cudaGetLastError());
	DID(kernels, 1);
	CHECK(cudaMemcpyAsync(on_host, values, bytes, cudaMemcpyDeviceToHost, stream));
	DID(copies_dtoh, 1);
	CHECK(cudaFreeAsync(values, stream));
}

static void work(int device, int number, int batches)
{
	cudaStream_t streams[2];
	int *on_host;

	CHECK(cudaSetDevice(device));
	for (cudaStream_t &stream : streams)
		CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMallocHost(&on_host, batches * bytes));
	for (int i = 0; i < batches * count; i++)
		on_host[i] = number + 1;
	for (int i = 0; i < batches; i++)
		batch(streams[i % 2], on_host + i * count, 3);
	for (cudaStream_t stream : streams) {
		CHECK(cudaStreamSynchronize(stream));
		DID(syncs, 1);
		CHECK(cudaStreamDestroy(stream));
	}
	for (int i = 0; i < batches; i++)
		RIGHT(all_are(on_host + i * count, 3 * (number + 1)));
	CHECK(cudaFreeHost(on_host));
}

/* Make the second stream wait for an event of the first. */
static void ordered(void)
{
	cudaStream_t one, other;
	cudaEvent_t event;
	std::vector<int> result(count);
	int *values;

	CHECK(cudaStreamCreateWithPriority(&one, cudaStreamNonBlocking, 0));
	CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	CHECK(cudaMalloc(&values, bytes));
	CHECK(cudaMemsetAsync(values, 1, bytes, one));
	DID(sets, 1);
	CHECK(cudaEventRecord(event, one));
	CHECK(cudaStreamWaitEvent(other, event, 0));
	scale<<<(count + 127) / 128, 128, 0, other>>>(values, 2, count);
	DID(kernels, 1);
	CHECK(cudaStreamSynchronize(other));
	DID(syncs, 1);
	CHECK(cudaMemcpy(result.data(), values, bytes, cudaMemcpyDeviceToHost));
	DID(copies_dtoh, 1);
	RIGHT(all_are(result.data(), 0x02020202));
	CHECK(cudaFree(values));
	CHECK(cudaEventDestroy(event));
	CHECK(cudaStreamDestroy(one));
	CHECK(cudaStreamDestroy(other));
}

static void managed(void)
{
	int *values;

	CHECK(cudaMallocManaged(&values, bytes));
	for (int i = 0; i < count; i++)
		values[i] = 5;
	scale<<<(count + 127) / 128, 128>>>(values, 2, count);
	DID(kernels, 1);
	CHECK(cudaDeviceSynchronize());
	DID(syncs, 1);
	sim_host_touches(values);
	RIGHT(all_are(values, 10));
	CHECK(cudaFree(values));
}

static void between_devices(void)
{
	std::vector<int> result(count);
	int *from, *to;

	CHECK(cudaSetDevice(0));
	CHECK(cudaMalloc(&from, bytes));
	CHECK(cudaMemset(from, 4, bytes));
	DID(sets, 1);
	CHECK(cudaSetDevice(1));
	CHECK(cudaMalloc(&to, bytes));
	CHECK(cudaMemcpyPeer(to, 1, from, 0, bytes));
	DID(copies_peer, 1);
	CHECK(cudaMemcpy(result.data(), to, bytes, cudaMemcpyDeviceToHost));
	DID(copies_dtoh, 1);
	RIGHT(all_are(result.data(), 0x04040404));
	CHECK(cudaFree(to));
	CHECK(cudaSetDevice(0));
	CHECK(cudaFree(from));
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2, batches = argc > 2 ? atoi(argv[2]) : 8, devices;
	std::vector<std::thread> workers;

	CHECK(cudaGetDeviceCount(&devices));
	if (argc > 3) {
		CHECK(cudaSetDevice(atoi(argv[3])));
		CHECK(cudaFree(nullptr));
	}
	for (int i = 0; i < threads; i++)
		workers.emplace_back(work, i % devices, i, batches);
	for (std::thread &worker : workers)
		worker.join();
	CHECK(cudaSetDevice(0));
	ordered();
	managed();
	if (devices > 1)
		between_devices();
	return did_end();
}
