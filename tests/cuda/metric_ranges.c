/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric_ranges.c - NVTX ranges whose hardware metrics are not simply those of their kernels.
 *
 * Usage: metric_ranges CASE: threads, open, left, fork, early, empty, handler, popped, stale,
 *                            crowd, capture, long, names, children
 * Each calls cuCtxGetCurrent() once, as the tracer does for each range; children each for itself.
 * Kernels have grids of different sizes, so that a test knows which of them a range counted.
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

static void popping(int number)
{
	(void)number;
	nvtxRangePop();
}

/* A range that ends in a handler; then one of another thread. */
static void popped(void)
{
	signal(SIGUSR1, popping);
	nvtxRangePushA("popped");
	launch(1);
	raise(SIGUSR1);
	in_thread(beside, "alone");
}

static void *beginning(void *user)
{
	nvtxRangePushA("stale");
	raise(SIGUSR1);
	nvtxRangePushA(user);
	CHECK(cuCtxSetCurrent(context));
	launch(2);
	nvtxRangePop();
	return NULL;
}

/* A range of a thread without a context that ends in a handler, and its next one. */
static void stale(void)
{
	signal(SIGUSR1, popping);
	in_thread(beginning, "fresh");
}

enum { CROWD = 64 };
static pthread_barrier_t crowd_waits, crowd_ends;

static void *waiting(void *user)
{
	nvtxRangePushA(user);
	pthread_barrier_wait(&crowd_waits);
	pthread_barrier_wait(&crowd_ends);
	nvtxRangePop();
	return NULL;
}

static void *late(void *user)
{
	nvtxRangePushA(user);
	CHECK(cuCtxSetCurrent(context));
	launch(2);
	nvtxRangePop();
	return NULL;
}

/* A range of a thread that gets its context in it, while 64 threads that get none have ranges. */
static void crowd(void)
{
	static char name[] = "host";
	pthread_t crowded[CROWD];
	pthread_barrier_init(&crowd_waits, NULL, CROWD + 1);
	pthread_barrier_init(&crowd_ends, NULL, CROWD + 1);
	for (int i = 0; i < CROWD; i++)
		pthread_create(&crowded[i], NULL, waiting, name);
	pthread_barrier_wait(&crowd_waits);
	in_thread(late, "lost");
	pthread_barrier_wait(&crowd_ends);
	for (int i = 0; i < CROWD; i++)
		pthread_join(crowded[i], NULL);
	in_thread(late, "late");
}

/* More ranges than a batch has, while a stream is captured. */
static void captured(void)
{
	CUstream stream;
	CUgraph graph;
	range("before", 1);
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	for (int i = 0; i < 300; i++) {
		nvtxRangePushA("captured");
		nvtxRangePop();
	}
	CHECK(cuStreamEndCapture(stream, &graph));
	range("after", 2);
}

/* Messages that do not fit in a record: 2,000 bytes that differ at their end only. */
static void long_ones(void)
{
	char text[2001] = "";
	memset(text, 'x', sizeof(text) - 1);
	for (char end = '1'; end <= '3'; end++) {
		text[sizeof(text) - 2] = end;
		range(text, (unsigned)(end - '0'));
	}
}

/* So many names that they would fill 16 MiB, of ranges without a context. */
static void many_names(void)
{
	char text[901];
	nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
		.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.messageType = NVTX_MESSAGE_TYPE_REGISTERED};
	for (int i = 0; i < 20000; i++) {
		snprintf(text, sizeof(text), "%0900d", i);
		nvtxRangePushA(text);
		nvtxRangePop();
	}
	begin();
	attributes.message.registered = nvtxDomainRegisterStringA(NULL, "registered");
	nvtxDomainRangePushEx(NULL, &attributes);
	launch(1);
	nvtxDomainRangePop(NULL);
	range("late", 2);
}

static int is_forking;
static int has_forked;

static void *pushing(void *user)
{
	while (!__atomic_load_n(&has_forked, __ATOMIC_ACQUIRE)) {
		if (!__atomic_load_n(&is_forking, __ATOMIC_ACQUIRE))
			continue;
		nvtxRangePushA(user);
		nvtxRangePop();
	}
	return NULL;
}

/* Children of a process that has not called CUDA, but has ranges in another thread. */
static int children(void)
{
	static char name[] = "host";
	pthread_t thread;
	int status, wrong = 0;
	pthread_create(&thread, NULL, pushing, name);
	for (int i = 0; i < 200; i++) {
		__atomic_store_n(&is_forking, 1, __ATOMIC_RELEASE);
		usleep(200);
		pid_t child = fork();
		__atomic_store_n(&is_forking, 0, __ATOMIC_RELEASE);
		if (!child) {
			nvtxRangePushA("host");
			nvtxRangePop();
			if (i % 50)
				_exit(0);
			begin();
			range("child", 1);
			CHECK(cuCtxSynchronize());
			exit(0);
		}
		waitpid(child, &status, 0);
		wrong |= status;
	}
	__atomic_store_n(&has_forked, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	return wrong;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "children"))
		return children();
	if (!strcmp(what, "early"))
		nvtxRangePushA("early");
	if (!strcmp(what, "names"))
		many_names();
	else
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
	} else if (!strcmp(what, "popped")) {
		popped();
	} else if (!strcmp(what, "stale")) {
		stale();
	} else if (!strcmp(what, "crowd")) {
		crowd();
	} else if (!strcmp(what, "capture")) {
		captured();
	} else if (!strcmp(what, "long")) {
		long_ones();
	} else if (strcmp(what, "names") != 0) {
		return 2;
	}
	CHECK(cuCtxSynchronize());
	DID(syncs, 1);
	return did_end();
}
