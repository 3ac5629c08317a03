// NEEDS: opencl
// LINK: -lOpenCL
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl_calls.c - time of a cheap call of OpenCL, and of a command from its call to its end.
 *
 * Prints the least of the rounds in ns: of clGetMemObjectInfo(), of clEnqueueFillBuffer() and
 * clFinish() together. Exits with 77 if there is no device. Run by opencl.sh.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define ROUNDS 400
#define CALLS 200

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(void)
{
	cl_platform_id platform;
	cl_device_id device;
	uint64_t least[2] = {UINT64_MAX, UINT64_MAX};
	if (clGetPlatformIDs(1, &platform, NULL) ||
		clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return 77;
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, NULL);
	if (!queue || !buffer)
		return 77;
	for (int round = 0; round < ROUNDS; round++) {
		cl_uint count = 0, zero = 0;
		uint64_t begin = now_ns();
		for (int i = 0; i < CALLS; i++)
			clGetMemObjectInfo(
				buffer, CL_MEM_REFERENCE_COUNT, sizeof(count), &count, NULL);
		uint64_t middle = now_ns();
		for (int i = 0; i < CALLS / 20; i++) {
			clEnqueueFillBuffer(
				queue, buffer, &zero, sizeof(zero), 0, 64, 0, NULL, NULL);
			clFinish(queue);
		}
		uint64_t end = now_ns();
		if (middle - begin < least[0])
			least[0] = middle - begin;
		if (end - middle < least[1])
			least[1] = end - middle;
	}
	printf("call %.1f ns, command %.1f ns\n", (double)least[0] / CALLS,
		(double)least[1] / (CALLS / 20));
	return 0;
}
