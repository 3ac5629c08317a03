/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libprobe.c - queries facts that only a driver and its CUPTI can give, in any program into which
 * it is preloaded.
 *
 * It writes JSON lines, one fact each, to the file that PROBE_LOG names; scripts/gpu-validate reads
 * them. With PROBE_FORK=1 it forks a child after cuptiSubscribe(), and the child checks if it can
 * initialize CUDA. The library does not change what the program does, only its speed.
 */
#include <cupti.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_BYTES = 4 << 20 };

static FILE *out;
static void *library;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long records;
static bool started;
static _Thread_local int depth; /* nesting depth of API calls */

/* Return a function of CUPTI by name; or NULL if this version lacks it. */
#define CUPTI(name) ((__typeof__(&name))dlsym(library, #name))

#define FACT(...)                                  \
	do {                                       \
		pthread_mutex_lock(&mutex);        \
		if (out) {                         \
			fprintf(out, __VA_ARGS__); \
			fputc('\n', out);          \
			fflush(out);               \
		}                                  \
		pthread_mutex_unlock(&mutex);      \
	} while (0)

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t CUPTIAPI monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* ---- callbacks ---- */

static void on_call(CUpti_CallbackDomain domain, uint32_t cbid, const CUpti_CallbackData *call)
{
	bool enter = call->callbackSite == CUPTI_API_ENTER;

	depth -= !enter;
	if (enter)
		FACT("{\"fact\":\"call\",\"domain\":%d,\"cbid\":%u,\"name\":\"%s\",\"correlation\":"
		     "%u,\"depth\":%d,\"symbol\":\"%s\"}",
			domain, cbid, call->functionName, call->correlationId, depth,
			call->symbolName ? call->symbolName : "");
	depth += enter;
}

static uint64_t node_id(CUgraphNode node)
{
	uint64_t id = 0;

	if (node && CUPTI(cuptiGetGraphNodeId))
		CUPTI(cuptiGetGraphNodeId)(node, &id);
	return id;
}

static uint32_t graph_id(CUgraph graph)
{
	uint32_t id = 0;

	if (graph && CUPTI(cuptiGetGraphId))
		CUPTI(cuptiGetGraphId)(graph, &id);
	return id;
}

static bool is_of_graph(uint32_t cbid)
{
	return cbid >= CUPTI_CBID_RESOURCE_GRAPH_CREATED &&
		cbid <= CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
}

static void on_resource(uint32_t cbid, const CUpti_ResourceData *resource)
{
	const CUpti_GraphData *graph = resource->resourceDescriptor;
	uint32_t context = 0, stream = 0;

	if (is_of_graph(cbid) && graph) {
		FACT("{\"fact\":\"graph\",\"cbid\":%u,\"graph\":%u,\"original_graph\":%u,\"node\":"
		     "%" PRIu64 ",\"original_node\":%" PRIu64 "}",
			cbid, graph_id(graph->graph),
			cbid == CUPTI_CBID_RESOURCE_GRAPH_CLONED ? graph_id(graph->originalGraph)
								 : 0,
			node_id(graph->node),
			cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED ? node_id(graph->originalNode)
								     : 0);
		return;
	}
	if (resource->context)
		CUPTI(cuptiGetContextId)(resource->context, &context);
	if (cbid == CUPTI_CBID_RESOURCE_STREAM_CREATED && resource->context)
		CUPTI(cuptiGetStreamIdEx)
	(resource->context, resource->resourceHandle.stream, 0, &stream);
	FACT("{\"fact\":\"resource\",\"cbid\":%u,\"context\":%u,\"stream\":%u}", cbid, context,
		stream);
}

static void CUPTIAPI on_callback(
	void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
	(void)user;
	if (domain == CUPTI_CB_DOMAIN_RUNTIME_API || domain == CUPTI_CB_DOMAIN_DRIVER_API)
		on_call(domain, cbid, data);
	else if (domain == CUPTI_CB_DOMAIN_RESOURCE)
		on_resource(cbid, data);
}

/* ---- records ---- */

static void CUPTIAPI on_request(uint8_t **ret_buffer, size_t *ret_bytes, size_t *ret_max_records)
{
	*ret_bytes = BUFFER_BYTES;
	*ret_max_records = 0;
	*ret_buffer = aligned_alloc(8, BUFFER_BYTES);
	memset(*ret_buffer, 0, BUFFER_BYTES);
}

static void put_kernel(const CUpti_ActivityKernel9 *record, long step)
{
	FACT("{\"fact\":\"kernel\",\"step\":%ld,\"name\":\"%s\",\"start\":%" PRIu64
	     ",\"end\":%" PRIu64 ",\"completed\":%" PRIu64
	     ",\"correlation\":%u,\"context\":%u,\"stream\":%u,\"registers\":%u,\"graph\":%u,"
	     "\"graph_node\":%" PRIu64
	     ",\"channel\":%u,\"channel_type\":%d,\"launch_type\":%u,\"queued\":%" PRIu64
	     ",\"grid_id\":%" PRId64 ",\"shared_executed\":%u}",
		step, record->name, record->start, record->end, record->completed,
		record->correlationId, record->contextId, record->streamId,
		record->registersPerThread, record->graphId, record->graphNodeId, record->channelID,
		record->channelType, record->launchType, record->queued, record->gridId,
		record->sharedMemoryExecuted);
}

static void put_record(const CUpti_Activity *any, long step)
{
	const CUpti_ActivitySynchronization *sync = (const CUpti_ActivitySynchronization *)any;
	const CUpti_ActivityAPI *call = (const CUpti_ActivityAPI *)any;

	switch (any->kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		put_kernel((const CUpti_ActivityKernel9 *)any, step);
		break;
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
		FACT("{\"fact\":\"sync\",\"step\":%ld,\"type\":%d,\"stream\":%u,\"event\":%u,"
		     "\"correlation\":%u}",
			step, sync->type, sync->streamId, sync->cudaEventId, sync->correlationId);
		break;
	case CUPTI_ACTIVITY_KIND_RUNTIME:
	case CUPTI_ACTIVITY_KIND_DRIVER:
		FACT("{\"fact\":\"api\",\"kind\":%d,\"step\":%ld,\"cbid\":%u,\"start\":%" PRIu64
		     ",\"end\":%" PRIu64 ",\"correlation\":%u}",
			any->kind, step, call->cbid, call->start, call->end, call->correlationId);
		break;
	default:
		FACT("{\"fact\":\"record\",\"kind\":%d,\"step\":%ld}", any->kind, step);
	}
}

static void CUPTIAPI on_complete(
	CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
	CUpti_Activity *record = NULL;
	uint8_t *at = NULL;

	(void)bytes;
	FACT("{\"fact\":\"buffer\",\"valid\":%zu,\"context\":%s,\"stream\":%u,\"tid\":%d}",
		valid_bytes, context ? "true" : "false", stream, (int)gettid());
	while (valid_bytes && !CUPTI(cuptiActivityGetNextRecord)(buffer, valid_bytes, &record)) {
		records++;
		if (at)
			put_record((CUpti_Activity *)at, (uint8_t *)record - at);
		at = (uint8_t *)record;
	}
	if (at)
		put_record((CUpti_Activity *)at, buffer + valid_bytes - at);
	free(buffer);
}

/* ---- start ---- */

static void ask_clock(void)
{
	uint64_t before = clock_ns(CLOCK_REALTIME), cupti = 0, after;

	CUPTI(cuptiGetTimestamp)(&cupti);
	after = clock_ns(CLOCK_REALTIME);
	FACT("{\"fact\":\"clock\",\"realtime_before\":%" PRIu64 ",\"cupti\":%" PRIu64
	     ",\"realtime_after\":%" PRIu64 "}",
		before, cupti, after);
	FACT("{\"fact\":\"timestamp_callback\",\"result\":%d}",
		CUPTI(cuptiActivityRegisterTimestampCallback)(monotonic_ns));
}

static bool is_wanted(int kind)
{
	return kind != CUPTI_ACTIVITY_KIND_KERNEL && kind != CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
}

/* Configure the counters that the tracer asks for, in both forms; the tracer uses the second. */
static CUptiResult configure_unified_memory(CUpti_ActivityUnifiedMemoryCounterScope scope)
{
	static const CUpti_ActivityUnifiedMemoryCounterKind kinds[] = {
		CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
		CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
		CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
		CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
		CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD};
	enum { COUNT = sizeof kinds / sizeof *kinds };
	CUpti_ActivityUnifiedMemoryCounterConfig counters[COUNT];

	for (size_t i = 0; i < COUNT; i++)
		counters[i] = (CUpti_ActivityUnifiedMemoryCounterConfig){scope, kinds[i], 0, 1};
	return CUPTI(cuptiActivityConfigureUnifiedMemoryCounter)(counters, COUNT);
}

static void ask_kinds(void)
{
	static const int kept[] = {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
		CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_RUNTIME,
		CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_MEMCPY2,
		CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, CUPTI_ACTIVITY_KIND_CUDA_EVENT,
		CUPTI_ACTIVITY_KIND_STREAM, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
		CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY_POOL,
		CUPTI_ACTIVITY_KIND_JIT};

	for (int kind = 1; kind < CUPTI_ACTIVITY_KIND_COUNT; kind++) {
		uint64_t start = monotonic_ns();
		CUptiResult result =
			is_wanted(kind) ? CUPTI(cuptiActivityEnable)((CUpti_ActivityKind)kind) : 0;
		bool keep = false;

		if (is_wanted(kind))
			FACT("{\"fact\":\"kind\",\"kind\":%d,\"result\":%d,\"ns\":%" PRIu64 "}",
				kind, result, monotonic_ns() - start);
		for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
			keep |= kept[i] == kind;
		if (is_wanted(kind) && !result && !keep)
			CUPTI(cuptiActivityDisable)((CUpti_ActivityKind)kind);
	}
	FACT("{\"fact\":\"unified_memory_all_devices\",\"result\":%d}",
		configure_unified_memory(
			CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES));
	FACT("{\"fact\":\"unified_memory_config\",\"result\":%d}",
		configure_unified_memory(
			CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE));
}

/* Check if subscribing has initialized the driver (cuDeviceGetCount returns 3, not initialized, if
 * not), and if a child can still initialize it. */
static void ask_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	CUresult (*count)(int *) =
		driver ? (CUresult(*)(int *))dlsym(driver, "cuDeviceGetCount") : NULL;
	CUresult (*init)(unsigned) = driver ? (CUresult(*)(unsigned))dlsym(driver, "cuInit") : NULL;
	int devices = 0, status = 0;
	pid_t child;

	FACT("{\"fact\":\"after_subscribe\",\"device_count_result\":%d}",
		count ? (int)count(&devices) : -1);
	if (!getenv("PROBE_FORK") || !init)
		return;
	child = fork();
	if (!child) {
		out = NULL; /* the facts are the parent's */
		_exit((int)init(0));
	}
	waitpid(child, &status, 0);
	FACT("{\"fact\":\"fork\",\"exited\":%s,\"cuInit\":%d}",
		WIFEXITED(status) ? "true" : "false", WEXITSTATUS(status));
}

static void flush(const char *where)
{
	long before = records;
	uint64_t start = monotonic_ns();
	CUptiResult result = CUPTI(cuptiActivityFlushAll)(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);

	FACT("{\"fact\":\"flush\",\"where\":\"%s\",\"result\":%d,\"records\":%ld,\"ns\":%" PRIu64
	     "}",
		where, result, records - before, monotonic_ns() - start);
}

static void at_exit(void)
{
	flush("atexit");
}

static void start(const char *why)
{
	const char *path = getenv("PROBE_CUPTI");
	CUpti_SubscriberHandle subscriber;
	uint64_t begin;
	uint32_t version = 0;
	CUptiResult result;

	if (started || !getenv("PROBE_LOG"))
		return;
	started = true;
	out = fopen(getenv("PROBE_LOG"), "we");
	FACT("{\"fact\":\"start\",\"why\":\"%s\"}", why);
	library = dlopen(path ? path : "libcupti.so.13", RTLD_NOW);
	if (!library) {
		FACT("{\"fact\":\"no_cupti\",\"why\":\"%s\"}", dlerror());
		return;
	}
	CUPTI(cuptiGetVersion)(&version);
	FACT("{\"fact\":\"cupti\",\"version\":%u}", version);
	begin = monotonic_ns();
	result = CUPTI(cuptiSubscribe)(&subscriber, on_callback, NULL);
	FACT("{\"fact\":\"subscribe\",\"result\":%d,\"ns\":%" PRIu64 "}", result,
		monotonic_ns() - begin);
	if (result)
		return;
	ask_driver();
	ask_clock();
	CUPTI(cuptiActivityRegisterCallbacks)(on_request, on_complete);
	CUPTI(cuptiEnableDomain)(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
	CUPTI(cuptiEnableDomain)(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
	CUPTI(cuptiEnableDomain)(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE);
	ask_kinds();
	atexit(at_exit);
}

__attribute__((visibility("default"))) void *dlopen(const char *path, int mode)
{
	static void *(*next)(const char *, int);
	void *opened;

	if (!next)
		next = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
	opened = next(path, mode);
	if (opened && path && strstr(path, "libcuda.so"))
		start("dlopen");
	return opened;
}

/* Report if the driver's own interface for tools calls the entry of a library that is already
 * loaded, through this function. */
__attribute__((visibility("default"))) char *getenv(const char *name)
{
	static char *(*next)(const char *);
	Dl_info caller;

	if (!next)
		next = (char *(*)(const char *))dlsym(RTLD_NEXT, "getenv");
	if (!strcmp(name, "CUDA_INJECTION64_PATH") && out &&
		dladdr(__builtin_return_address(0), &caller))
		FACT("{\"fact\":\"getenv\",\"name\":\"%s\",\"caller\":\"%s\"}", name,
			caller.dli_fname);
	return next(name);
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	start("InitializeInjection");
	FACT("{\"fact\":\"injection\"}");
	return 1;
}

__attribute__((constructor)) static void begin(void)
{
	if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD))
		start("linked");
}

__attribute__((destructor)) static void end(void)
{
	size_t dropped = 0;

	if (!library || !out)
		return;
	flush("destructor");
	CUPTI(cuptiActivityGetNumDroppedRecords)(NULL, 0, &dropped);
	FACT("{\"fact\":\"end\",\"records\":%ld,\"dropped\":%zu}", records, dropped);
}
