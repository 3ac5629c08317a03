/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_new.cu - has an operator new that allocates managed memory, so that every container calls
 * CUDA.
 *
 * Usage: own_new
 */
#include "tests/cuda/did.h"
#include "tests/sim/kernel.h"

#include <cuda_runtime.h>
#include <map>
#include <new>
#include <thread>
#include <vector>

struct did did;

/* nvcc takes the operators for functions of the device, too. */
#ifndef __CUDA_ARCH__
static void *take(std::size_t bytes)
{
	void *memory;

	CHECK(cudaMallocManaged(&memory, bytes ? bytes : 1));
	return memory;
}

static void give(void *memory)
{
	CHECK(cudaFree(memory));
}

void *operator new(std::size_t bytes)
{
	return take(bytes);
}

void operator delete(void *memory) noexcept
{
	give(memory);
}

void operator delete(void *memory, std::size_t) noexcept
{
	give(memory);
}
#endif

extern "C" __global__ void twice(int *values, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		values[i] *= 2;
}

/* The kernel for the simulated device. */
static void emulate(const uint32_t *, const uint32_t *, void **arguments)
{
	int *values = *(int **)arguments[0];

	for (int i = 0; i < *(int *)arguments[1]; i++)
		values[i] *= 2;
}
extern "C" const struct sim_kernel sim_kernel_twice = {emulate, {8, 4}};

static void work()
{
	std::vector<int> values(1000, 3);
	std::map<int, int> counts;

	twice<<<8, 128>>>(values.data(), (int)values.size());
	DID(kernels, 1);
	CHECK(cudaDeviceSynchronize());
	DID(syncs, 1);
	for (int value : values)
		counts[value]++;
	RIGHT(counts.size() == 1 && counts[6] == 1000);
}

int main()
{
	std::thread other(work);

	work();
	other.join();
	return did_end();
}
