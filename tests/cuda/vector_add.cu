/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vector_add.cu - adds two vectors.
 *
 * Usage: vector_add [LAUNCHES=10] [range]
 *
 * range: only the second half is between cudaProfilerStart() and cudaProfilerStop().
 */
#include "tests/cuda/did.h"
#include "tests/sim/kernel.h"

#include <cuda_runtime.h>
#include <vector>

// As in cuda_profiler_api.h, which is not in every set of headers.
extern "C" cudaError_t cudaProfilerStart(void);
extern "C" cudaError_t cudaProfilerStop(void);

struct did did;

extern "C" __global__ void vector_add(const float *a, const float *b, float *sum, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		sum[i] = a[i] + b[i];
}

/* The same for the simulated device. */
static void emulate(const uint32_t *, const uint32_t *, void **arguments)
{
	const float *a = *(const float **)arguments[0], *b = *(const float **)arguments[1];
	float *sum = *(float **)arguments[2];
	int count = *(int *)arguments[3];

	for (int i = 0; i < count; i++)
		sum[i] = a[i] + b[i];
}
extern "C" const struct sim_kernel sim_kernel_vector_add = {emulate, {8, 8, 8, 4}};

static void launch(int times, const float *a, const float *b, float *sum, int count)
{
	for (int i = 0; i < times; i++) {
		vector_add<<<(count + 255) / 256, 256>>>(a, b, sum, count);
		CHECK(cudaGetLastError());
		DID(kernels, 1);
	}
}

int main(int argc, char **argv)
{
	const int count = 1 << 16, launches = argc > 1 ? atoi(argv[1]) : 10;
	const bool range = argc > 2 && !strcmp(argv[2], "range");
	std::vector<float> a(count), b(count), sum(count);
	float *on_device[3];
	cudaEvent_t before, after;
	float ms = 0;

	for (int i = 0; i < count; i++) {
		a[i] = i;
		b[i] = 2 * i;
	}
	for (float *&address : on_device)
		CHECK(cudaMalloc(&address, count * sizeof(float)));
	CHECK(cudaEventCreate(&before));
	CHECK(cudaEventCreate(&after));
	CHECK(cudaMemcpy(on_device[0], a.data(), count * sizeof(float), cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(on_device[1], b.data(), count * sizeof(float), cudaMemcpyHostToDevice));
	DID(copies_htod, 2);
	CHECK(cudaMemset(on_device[2], 0, count * sizeof(float)));
	DID(sets, 1);
	CHECK(cudaEventRecord(before));
	launch(launches - launches / 2, on_device[0], on_device[1], on_device[2], count);
	if (range)
		CHECK(cudaProfilerStart());
	launch(launches / 2, on_device[0], on_device[1], on_device[2], count);
	if (range)
		CHECK(cudaProfilerStop());
	CHECK(cudaEventRecord(after));
	CHECK(cudaDeviceSynchronize());
	DID(syncs, 1);
	CHECK(cudaEventElapsedTime(&ms, before, after));
	RIGHT(ms > 0);
	CHECK(cudaMemcpy(sum.data(), on_device[2], count * sizeof(float), cudaMemcpyDeviceToHost));
	DID(copies_dtoh, 1);
	for (int i = 0; i < count; i++)
		if (sum[i] != a[i] + b[i]) {
			RIGHT(!"sum");
			break;
		}
	for (float *address : on_device)
		CHECK(cudaFree(address));
	CHECK(cudaEventDestroy(before));
	CHECK(cudaEventDestroy(after));
	return did_end();
}
