/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer_cuda_device.c - tests of the CUDA source on the simulated device (tests/sim).
 *
 * Threads launch, copy, load modules and wait, while CUPTI's own thread delivers buffers. Every
 * event is recorded once; under ThreadSanitizer nothing races in the tracer. The device's libraries
 * are not instrumented.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "tap.h"
#include "tests/unit/tracer_session.h"
#include "tracer/cuda/cuda.h"
#include "tracer/core/lane.h"

#define THREADS 4u
#define ROUNDS 60u
#define LAUNCHES 5u /* in each round */
#define BYTES 4096u

static const char ptx[] = "// increment\n.version 8.0\n.target sm_75\n.address_size 64\n"
			  ".visible .entry increment(.param .u64 a)\n{\n ret;\n}\n";

/* Functions of the driver API; all return 0 when they succeed. */
#define DRIVER(X)                                                                              \
	X(cuInit, (unsigned))                                                                  \
	X(cuDevicePrimaryCtxRetain, (void **, int))                                            \
	X(cuCtxPushCurrent_v2, (void *))                                                       \
	X(cuMemAlloc_v2, (uint64_t *, size_t))                                                 \
	X(cuMemFree_v2, (uint64_t))                                                            \
	X(cuMemsetD8Async, (uint64_t, unsigned char, size_t, void *))                          \
	X(cuStreamCreate, (void **, unsigned))                                                 \
	X(cuStreamDestroy_v2, (void *))                                                        \
	X(cuStreamSynchronize, (void *))                                                       \
	X(cuModuleLoadData, (void **, const void *))                                           \
	X(cuModuleUnload, (void *))                                                            \
	X(cuModuleGetFunction, (void **, void *, const char *))                                \
	X(cuLaunchKernel,                                                                      \
		(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
			void *, void **, void **))

#define X(name, parameters) static int(*name) parameters;
DRIVER(X)
#undef X

static void *context;
static uint32_t failures;

static void must(int result)
{
	if (result)
		__atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
}

static bool driver_open(const char *folder)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/libcuda.so.1", folder);
	void *library = dlopen(path, RTLD_NOW);
	bool all = library != NULL;
#define X(name, parameters)                                               \
	*(void **)(void *)&name = library ? dlsym(library, #name) : NULL; \
	all = all && name;
	DRIVER(X)
#undef X
	return all;
}

static void round_make(void)
{
	uint64_t memory = 0;
	void *stream, *module, *function, *arguments[] = {&memory};
	must(cuStreamCreate(&stream, 1));
	must(cuMemAlloc_v2(&memory, BYTES));
	must(cuModuleLoadData(&module, ptx));
	must(cuModuleGetFunction(&function, module, "increment"));
	must(cuMemsetD8Async(memory, 1, BYTES, stream));
	for (uint32_t i = 0; i < LAUNCHES; i++)
		must(cuLaunchKernel(function, 4, 1, 1, 64, 1, 1, 0, stream, arguments, NULL));
	must(cuStreamSynchronize(stream));
	must(cuModuleUnload(module));
	must(cuMemFree_v2(memory));
	must(cuStreamDestroy_v2(stream));
}

static void *worker(void *unused)
{
	must(cuCtxPushCurrent_v2(context));
	for (uint32_t i = 0; i < ROUNDS; i++)
		round_make();
	return unused;
}

/* End the program's own windows, on a thread of its own. */
static void *flusher(void *unused)
{
	for (uint32_t i = 0; i < 100; i++)
		cuda_flush_all(false);
	return unused;
}

static void all_at_once(void)
{
	pthread_t threads[THREADS + 1];
	must(cuInit(0));
	must(cuDevicePrimaryCtxRetain(&context, 0));
	for (uint32_t i = 0; i <= THREADS; i++)
		if (pthread_create(&threads[i], NULL, i < THREADS ? worker : flusher, NULL))
			abort();
	for (uint32_t i = 0; i <= THREADS; i++)
		pthread_join(threads[i], NULL);
	cuda_flush_all(true);
	const struct cuda_page *p = cuda.page;
	uint64_t launches = (uint64_t)THREADS * ROUNDS * LAUNCHES;
	check(!failures, "every call of the program succeeds: %u", failures);
	check(p->api_calls >= launches + THREADS * ROUNDS * 8u,
		"every call of the program is recorded: %lu", (unsigned long)p->api_calls);
	check(p->records >= launches + THREADS * ROUNDS * 4u && p->rows == p->records,
		"each record of the device is a row: %lu of %lu", (unsigned long)p->rows,
		(unsigned long)p->records);
	check(!p->impossible && !p->unread && !p->dropped && !p->buffers_refused && !p->ignored,
		"no record is missing, unread or has impossible times: %lu, %lu, %lu",
		(unsigned long)p->dropped, (unsigned long)p->unread, (unsigned long)p->impossible);
	check(cuda.state == CUDA_ENDED, "the source ends");
}

int main(void)
{
	char folder[4000], cupti_path[4096];
	const char *sim = getenv("SIM");
	snprintf(folder, sizeof(folder), "%s/cuda13", sim ? sim : "build/sim");
	snprintf(cupti_path, sizeof(cupti_path), "%s/libcupti.so.13", folder);
	setenv("SIM_FAULT", "worker=1", 0);
	if (access(cupti_path, R_OK) || !driver_open(folder)) {
		printf("1..0 # SKIP no simulated device: built without headers of CUDA 13\n");
		return 0;
	}
	if (!check(tracer_session_start(), "a session starts"))
		return tap_done();
	session.config.cupti = cupti_path;
	session.config.cuda_memory = session.config.cuda_unified_memory = true;
	session.config.cuda_flush_ns = 5000000;
	cuda_start(NULL);
	if (check(cuda.state == CUDA_ON, "the source starts"))
		all_at_once();
	tracer_session_end();
	return tap_done();
}
