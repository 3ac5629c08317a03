/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ends.c - uses the device briefly, by the driver API that it is linked with, and ends in the given
 * way.
 *
 * Usage: ends WAY; main() has the list of ways.
 */
#include "tests/cuda/did.h"

#include <cuda.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Declarations of cudaProfiler.h, which is distributed apart from the other headers. */
CUresult CUDAAPI cuProfilerStart(void);
CUresult CUDAAPI cuProfilerStop(void);

struct did did;

#define BYTES 4096
#define SETS 5

static CUdeviceptr memory;

static void device_open(void)
{
	CUcontext context;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxPushCurrent(context));
	CHECK(cuMemAlloc(&memory, BYTES));
}

static void sets(void)
{
	for (int i = 0; i < SETS; i++)
		CHECK(cuMemsetD8(memory, (unsigned char)i, BYTES));
	DID(sets, SETS);
}

static void print_now(void)
{
	did_end();
	fflush(stdout);
}

static void fork_child(void (*work)(void), int status)
{
	int ended = 0;
	pid_t child = fork();

	if (!child) {
		if (work)
			work();
		_exit(status);
	}
	RIGHT(child > 0 && waitpid(child, &ended, 0) == child);
	RIGHT(WIFEXITED(ended) && WEXITSTATUS(ended) == status);
}

static void child_works(void)
{
	device_open();
	sets();
}

/* Start a copy that takes longer than anybody waits. */
static void copy_for_ever(void)
{
	size_t bytes = 64 << 20;
	char *data = calloc(1, bytes);
	CUdeviceptr much;

	CHECK(cuMemAlloc(&much, bytes));
	print_now();
	CHECK(cuMemcpyHtoD(much, data, bytes));
}

static void window(void)
{
	sets();
	CHECK(cuProfilerStart());
	sets();
	CHECK(cuProfilerStop());
	sets();
}

static int end(const char *way)
{
	if (!strcmp(way, "fork_first"))
		fork_child(child_works, 3);
	device_open();
	if (!strncmp(way, "window", 6)) {
		window();
		if (!strcmp(way, "window_later")) { /* longer than the tracer waits for the
						       remaining records */
			usleep(1300000);
			sets();
		}
		return did_end();
	}
	sets();
	if (!strcmp(way, "fork")) {
		fork_child(NULL, 3);
		sets();
	} else if (!strcmp(way, "_exit")) {
		print_now();
		_exit(0);
	} else if (!strcmp(way, "abort")) {
		print_now();
		usleep(500000);
		abort();
	} else if (!strcmp(way, "kill")) {
		print_now();
		usleep(500000);
		kill(getpid(), SIGKILL);
	} else if (!strcmp(way, "exec")) {
		print_now();
		execl("/bin/true", "true", (char *)NULL);
	} else if (!strcmp(way, "hang")) {
		alarm(1);
		copy_for_ever();
	}
	return did_end();
}

int main(int argc, char **argv)
{
	return argc > 1 ? end(argv[1]) : 2;
}
