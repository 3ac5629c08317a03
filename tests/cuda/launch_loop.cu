/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_loop.cu - measures the cost of a launch on the host: launches an empty kernel repeatedly
 * and waits after each 500 launches; the time of the waits is not counted.
 *
 * Usage: launch_loop [ROUNDS=100 [SLEEP_MS=0]]
 *
 * It sleeps at the end, and prints {"rounds": N, "ns_per_launch": {"min": N, "median": N},
 * "waited_ns": N}.
 */
#include "tests/cuda/did.h"
#include "tests/sim/kernel.h"

#include <algorithm>
#include <cuda_runtime.h>
#include <time.h>
#include <unistd.h>
#include <vector>

struct did did;

extern "C" __global__ void nothing(int)
{
}

static void emulate(const uint32_t *, const uint32_t *, void **)
{
}
extern "C" const struct sim_kernel sim_kernel_nothing = {emulate, {4}};

static long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000l + now.tv_nsec;
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 100, each = 500;
	std::vector<double> ns;
	long start, launched, waited = 0;

	nothing<<<1, 32>>>(0);
	DID(kernels, 1);
	CHECK(cudaDeviceSynchronize());
	DID(syncs, 1);
	for (int round = 0; round < rounds; round++) {
		start = now_ns();
		for (int i = 0; i < each; i++)
			nothing<<<1, 32>>>(i);
		launched = now_ns();
		CHECK(cudaDeviceSynchronize());
		waited += now_ns() - launched;
		ns.push_back((double)(launched - start) / each);
		DID(kernels, each);
		DID(syncs, 1);
	}
	CHECK(cudaGetLastError());
	usleep(argc > 2 ? atoi(argv[2]) * 1000 : 0);
	std::sort(ns.begin(), ns.end());
	printf("{\"rounds\": %d, \"ns_per_launch\": {\"min\": %.1f, \"median\": %.1f}, \"waited_ns\": %ld}\n", rounds, ns.front(),
		ns[ns.size() / 2], waited);
	return did_end();
}
