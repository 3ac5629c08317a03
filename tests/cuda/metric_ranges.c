/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric_ranges.c - NVTX ranges whose hardware metrics are not simply those of their kernels.
 *
 * Usage: metric_ranges CASE: threads, open, left, fork, early, empty, handler
 * Each calls cuCtxGetCurrent() once, as the tracer does for each range. Kernels have grids of
 * different sizes, so that a test knows which of them a range counted.
 */
#include "tests/cuda/did.h"

#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct did did;

#define KERNEL "_ZN4work5scaleIfEEvPT_j"
static const char ptx[] = "//\n"
			  ".version 7.0\n"
			  ".target sm_75\n"
			  ".address_size 64\n"
			  ".visible .entry " KERNEL "(.param .u64 values, .param .u32 count)\n"
			  "{\n"
			  "  ret;\n"
			  "}\n";

static CUcontext context;
static CUfunction function;

static void begin(void)
{
	CUmodule module;
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxPushCurrent(context));
	CHECK(cuCtxGetCurrent(&context));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&function, module, KERNEL));
}

static void launch(unsigned grid)
{
	CUdeviceptr values = 0;
	unsigned count = 0;
	void *arguments[] = {&values, &count};
	CHECK(cuLaunchKernel(function, grid, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
	DID(kernels, 1);
}

static void range(const char *name, unsigned grid)
{
	nvtxRangePushA(name);
	launch(grid);
	nvtxRangePop();
}

static void *beside(void *user)
{
	CHECK(cuCtxSetCurrent(context));
	range(user, 2);
	return NULL;
}

static void *leaving(void *user)
{
	CHECK(cuCtxSetCurrent(context));
	nvtxRangePushA(user);
	launch(2);
	return NULL;
}

static void in_thread(void *(*run)(void *), const char *name)
{
	pthread_t thread;
	pthread_create(&thread, NULL, run, (void *)(uintptr_t)name);
	pthread_join(thread, NULL);
}

static void threads(void)
{
	nvtxRangePushA("main");
	launch(1);
	in_thread(beside, "beside");
	nvtxRangePop();
	in_thread(beside, "alone");
}

/* The child of a fork measures nothing, not even the rest of its parent's range. */
static void forked(void)
{
	int status = 1;
	range("before", 1);
	nvtxRangePushA("around");
	launch(2);
	pid_t child = fork();
	if (!child) {
		nvtxRangePop();
		nvtxRangePushA("child");
		nvtxRangePop();
		_exit(0);
	}
	waitpid(child, &status, 0);
	if (status)
		exit(1);
	launch(3);
	nvtxRangePop();
	range("after", 4);
}

static void handler(int number)
{
	(void)number;
	nvtxRangePushA("in a handler");
	nvtxRangePop();
}

static void handled(void)
{
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	range("after", 1);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "early"))
		nvtxRangePushA("early");
	begin();
	if (!strcmp(what, "threads")) {
		threads();
	} else if (!strcmp(what, "open")) {
		range("closed", 1);
		nvtxRangePushA("open");
		launch(2);
	} else if (!strcmp(what, "left")) {
		in_thread(leaving, "left");
		range("after", 1);
	} else if (!strcmp(what, "fork")) {
		forked();
	} else if (!strcmp(what, "early")) {
		launch(1);
		nvtxRangePop();
		range("late", 2);
	} else if (!strcmp(what, "empty")) {
		nvtxRangePushA("empty");
		nvtxRangePop();
		launch(1);
		range("full", 2);
	} else if (!strcmp(what, "handler")) {
		handled();
	} else {
		return 2;
	}
	CHECK(cuCtxSynchronize());
	DID(syncs, 1);
	return did_end();
}
