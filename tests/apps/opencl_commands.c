// NEEDS: opencl
// LINK: -lOpenCL
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl_commands.c - commands of OpenCL in several queues. The program prints what it can find out
 * about its queues and events: a tracer must not change it.
 *
 * Usage: opencl_commands [rounds [threads]], or opencl_commands flood COMMANDS, which cannot begin
 * before all of them are enqueued.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS 4096

static const char source[] =
	"__kernel void add(__global float *a, __global const float *b)\n"
	"{ size_t i = get_global_id(0); for (int k = 0; k < 20; k++) a[i] += b[i]; }\n"
	"__kernel void scale(__global float *a)\n"
	"{ a[get_global_id(0) + get_global_size(0) * get_global_id(1)] *= 2; }\n";

static cl_context context;
static cl_device_id device;
static cl_program program;
static int rounds = 1;

static void need(int error, const char *what)
{
	if (!error)
		return;
	printf("%s: %d\n", what, error);
	exit(1);
}

/* Print what a program can see of a queue. */
static void queue_show(const char *name, cl_command_queue queue)
{
	cl_command_queue_properties properties = 0xdead;
	cl_queue_properties list[20];
	size_t bytes = 0xbeef, small = 0xbeef;
	memset(list, 0xff, sizeof(list));
	int error = clGetCommandQueueInfo(
		queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL);
	printf("%s: properties %d %#llx\n", name, error, (unsigned long long)properties);
	error = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof(list), list, &bytes);
	printf("%s: list %d, %zu bytes:", name, error, bytes);
	for (size_t i = 0; !error && i < bytes / sizeof(list[0]); i++)
		printf(" %#llx", (unsigned long long)list[i]);
	error = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, 0, NULL, &small);
	printf(", %d %zu", error, small);
	error = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, 8, list, NULL);
	printf(", %d\n", error);
}

/* Print what a program can see of an event whose command has ended. */
static void event_show(const char *name, cl_event event)
{
	cl_ulong time = 0;
	cl_uint references = 0;
	cl_int status = 99;
	size_t bytes = 77;
	int error = clGetEventProfilingInfo(
		event, CL_PROFILING_COMMAND_START, sizeof(time), &time, &bytes);
	clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof(references), &references, NULL);
	clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
	printf("%s: profiling %d, %s, %zu bytes; status %d; references %u; %d\n", name, error,
		time ? "a time" : "no time", bytes, status, references,
		clGetEventProfilingInfo(event, 1, sizeof(time), &time, NULL));
}

static float sum(const float *values)
{
	float all = 0;
	for (int i = 0; i < ITEMS; i++)
		all += values[i];
	return all;
}

/* Run kernels and copies in the queue. Each round enqueues 3 kernels, 5 copies, 1 fill, 1 map, 1
 * unmap. */
static float work(cl_command_queue queue, const char *name)
{
	static float none[ITEMS];
	int error;
	float host[ITEMS];
	for (int i = 0; i < ITEMS; i++)
		host[i] = (float)i;
	cl_mem a = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(host), NULL, &error);
	cl_mem b = clCreateBuffer(
		context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(host), host, &error);
	need(error, "buffers");
	cl_kernel add = clCreateKernel(program, "add", &error);
	need(error, "add");
	cl_kernel scale = clCreateKernel(program, "scale", &error);
	need(error, "scale");
	need(clSetKernelArg(add, 0, sizeof(a), &a), "argument");
	need(clSetKernelArg(add, 1, sizeof(b), &b), "argument");
	need(clSetKernelArg(scale, 0, sizeof(a), &a), "argument");
	for (int i = 0; i < rounds; i++) {
		const size_t items = ITEMS, group = 64, flat[] = {64, 64}, origin[] = {0, 0, 0},
			     region[] = {64, 4, 1};
		const float zero = 0;
		cl_event event = NULL, last = NULL;
		need(clEnqueueFillBuffer(
			     queue, a, &zero, sizeof(zero), 0, sizeof(host), 0, NULL, NULL),
			"fill");
		need(clEnqueueWriteBuffer(queue, a, CL_TRUE, 0, sizeof(host), host, 0, NULL, NULL),
			"write");
		need(clEnqueueNDRangeKernel(queue, add, 1, NULL, &items, &group, 0, NULL, &event),
			"kernel");
		need(clEnqueueNDRangeKernel(queue, scale, 2, NULL, flat, NULL, 1, &event, NULL),
			"kernel");
		need(clFinish(queue), "finish");
		need(clEnqueueTask(queue, scale, 0, NULL, &last), "task");
		need(clWaitForEvents(1, &last), "wait");
		need(clEnqueueCopyBuffer(queue, a, b, 0, 0, 1024, 0, NULL, NULL), "copy");
		need(clEnqueueCopyBufferRect(
			     queue, a, b, origin, origin, region, 256, 0, 256, 0, 0, NULL, NULL),
			"rectangle");
		need(clEnqueueCopyBuffer(queue, b, a, 0, 0, 1024, 0, NULL, NULL), "copy");
		float *mapped = clEnqueueMapBuffer(
			queue, a, CL_TRUE, CL_MAP_READ, 0, sizeof(host), 0, NULL, NULL, &error);
		need(error || !mapped, "map");
		need(clEnqueueUnmapMemObject(queue, a, mapped, 0, NULL, NULL), "unmap");
		need(clEnqueueReadBuffer(queue, a, CL_TRUE, 0, sizeof(none), host, 0, NULL, NULL),
			"read");
		if (name && !i)
			event_show(name, event);
		need(clReleaseEvent(event) || clReleaseEvent(last), "release");
	}
	/* Commands that are not valid. */
	if (name)
		printf("%s: errors %d %d\n", name,
			clEnqueueCopyBuffer(queue, a, b, 0, sizeof(host), 4, 0, NULL, NULL),
			clEnqueueNDRangeKernel(queue, add, 9, NULL, NULL, NULL, 0, NULL, NULL));
	clReleaseKernel(add);
	clReleaseKernel(scale);
	clReleaseMemObject(a);
	clReleaseMemObject(b);
	return sum(host);
}

static int flood(int count)
{
	int error, zero = 0;
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
	need(error, "queue");
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &error);
	need(error, "buffer");
	cl_event gate = clCreateUserEvent(context, &error);
	need(error, "user event");
	for (int i = 0; i < count; i++)
		need(clEnqueueFillBuffer(queue, buffer, &zero, sizeof(zero), 0, 4096, i ? 0 : 1,
			     i ? NULL : &gate, NULL),
			"fill");
	need(clSetUserEventStatus(gate, CL_COMPLETE), "gate");
	need(clFinish(queue), "finish");
	printf("%d commands have ended\n", count);
	clReleaseEvent(gate);
	clReleaseMemObject(buffer);
	clReleaseCommandQueue(queue);
	return 0;
}

static void *thread_main(void *user)
{
	cl_command_queue queue = user;
	float *result = malloc(sizeof(*result));
	*result = work(queue, NULL);
	return result;
}

int main(int argc, char **argv)
{
	cl_platform_id platform;
	int error, threads = argc > 2 ? atoi(argv[2]) : 0;
	rounds = argc > 1 ? atoi(argv[1]) : 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	need(error, "clCreateContext");
	if (argc > 2 && !strcmp(argv[1], "flood"))
		return flood(atoi(argv[2]));
	const char *text = source;
	program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
	need(error, "clCreateProgramWithSource");
	need(clBuildProgram(program, 1, &device, "-cl-mad-enable", NULL, NULL), "clBuildProgram");
	const cl_queue_properties out_of_order[] = {CL_QUEUE_PROPERTIES,
		CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0},
				  profiling[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0},
				  empty[] = {0};
	struct {
		const char *name;
		cl_command_queue queue;
	} queues[] = {{"old", clCreateCommandQueue(context, device, 0, NULL)},
		{"old, profiling",
			clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, NULL)},
		{"plain", clCreateCommandQueueWithProperties(context, device, NULL, NULL)},
		{"empty", clCreateCommandQueueWithProperties(context, device, empty, NULL)},
		{"profiling",
			clCreateCommandQueueWithProperties(context, device, profiling, NULL)}};
	for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
		queue_show(queues[i].name, queues[i].queue);
		printf("%s: sum %g\n", queues[i].name,
			(double)work(queues[i].queue, queues[i].name));
	}
	cl_command_queue any =
		clCreateCommandQueueWithProperties(context, device, out_of_order, &error);
	if (!error)
		queue_show("out of order", any);
	pthread_t t[8];
	for (int i = 0; i < threads && i < 8; i++)
		pthread_create(&t[i], NULL, thread_main, queues[i % 5].queue);
	for (int i = 0; i < threads && i < 8; i++) {
		void *sum_of_thread = NULL;
		pthread_join(t[i], &sum_of_thread);
		printf("thread: sum %g\n", (double)*(float *)sum_of_thread);
		free(sum_of_thread);
	}
	for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++)
		clReleaseCommandQueue(queues[i].queue);
	if (!error)
		clReleaseCommandQueue(any);
	clReleaseProgram(program);
	clReleaseContext(context);
	return 0;
}
