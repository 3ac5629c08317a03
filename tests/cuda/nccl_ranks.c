/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_ranks.c - ranks of a communicator of NCCL, one process each, of which a known one is late.
 * A stand-in for NCCL launches the kernels, and reports them to a profiler plug-in as NCCL does:
 * right after the launch, in its thread. Kernels of the simulated device do nothing: those of the
 * other ranks take as long as if they waited.
 *
 * Usage: nccl_ranks RANKS LATE allreduce|sendrecv MS_LATE
 *     allreduce  all ranks reduce; LATE comes last
 *     sendrecv   LATE sends to all others
 */
#include "tests/cuda/did.h"

#include <cuda.h>
#include <dlfcn.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracer/nccl/plugin_abi.h"

#define COMM 0x5eed0fc0ffee1234ull
#define LONG_NS "kernel_ns=600000000" /* more than a busy machine keeps the late rank */
#define SHORT_NS "kernel_ns=10000000" /* of the late rank */
#define POLL_US 1000                  /* until the others have launched theirs */

struct did did;

static const char ptx[] = "//\n"
			  ".version 7.0\n"
			  ".target sm_75\n"
			  ".address_size 64\n"
			  ".visible .entry ncclDevKernel_AllReduce_Sum_f32_RING_LL()\n"
			  "{\n"
			  "  ret;\n"
			  "}\n"
			  ".visible .entry ncclDevKernel_SendRecv()\n"
			  "{\n"
			  "  ret;\n"
			  "}\n";

struct rank {
	int number, ranks, late;
	int *begun; /* number of the ranks that have launched their kernel */
	const struct nccl_plugin *plugin;
	void *context;
	CUmodule module;
	CUstream stream;
};

static void plugin_open(struct rank *r)
{
	const char *path = getenv("NCCL_PROFILER_PLUGIN");
	void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	int mask;

	r->plugin = library ? dlsym(library, "ncclProfiler_v5") : NULL;
	if (r->plugin)
		CHECK(r->plugin->init_5(
			&r->context, COMM, &mask, "world", 1, r->ranks, r->number, NULL));
}

static void device_open(struct rank *r)
{
	CUcontext context;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxPushCurrent(context));
	CHECK(cuModuleLoadData(&r->module, ptx));
	CHECK(cuStreamCreate(&r->stream, CU_STREAM_NON_BLOCKING));
}

static void kernel_launch(struct rank *r, const char *name)
{
	CUfunction function;

	CHECK(cuModuleGetFunction(&function, r->module, name));
	CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, r->stream, NULL, NULL));
	__atomic_add_fetch(r->begun, 1, __ATOMIC_RELEASE);
}

static void *begin(struct rank *r, int kind, struct nccl_event *e)
{
	void *handle = NULL;

	e->type = 1u << kind;
	e->rank = r->number;
	if (r->plugin)
		CHECK(r->plugin->start(r->context, &handle, e));
	return handle;
}

static void end(struct rank *r, void *handle)
{
	if (handle)
		CHECK(r->plugin->stop(handle));
}

/* Report a collective or message, and the channel of its kernel until the kernel has ended. */
static void report(struct rank *r, int kind, struct nccl_event *e)
{
	void *whole = begin(r, kind, e);
	struct nccl_event channel = {.parent = whole};

	end(r, whole);
	void *running = begin(r, NCCL_KERNEL_CHANNEL, &channel);
	CHECK(cuStreamSynchronize(r->stream));
	end(r, running);
}

static void reduce(struct rank *r)
{
	struct nccl_event e = {.coll = {1, "AllReduce", NULL, NULL, 1 << 20, 0, "ncclFloat32", 1, 8,
				       "RING", "LL", NULL}};

	kernel_launch(r, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
	report(r, NCCL_COLL, &e);
}

/* Send to all others, or receive, by one kernel. */
static void move(struct rank *r)
{
	const int sends = r->number == r->late;
	struct nccl_event e = {
		.p2p = {sends ? "Send" : "Recv", NULL, "ncclInt8", 4096, 0, 1, NULL}};

	kernel_launch(r, "ncclDevKernel_SendRecv");
	for (int peer = 0; sends && peer < r->ranks; peer++) {
		e.p2p.peer = peer;
		if (peer != r->number)
			end(r, begin(r, NCCL_P2P, &e));
	}
	e.p2p.peer = r->late;
	if (sends)
		CHECK(cuStreamSynchronize(r->stream));
	else
		report(r, NCCL_P2P, &e);
}

/* The stage that makes a rank late. */
__attribute__((noinline, visibility("default"))) void late(int ms)
{
	usleep((unsigned)ms * 1000);
	__asm__ volatile("");
}

static int rank_run(struct rank *r, void (*communicate)(struct rank *r), int ms)
{
	plugin_open(r);
	device_open(r);
	if (r->number == r->late) {
		while (__atomic_load_n(r->begun, __ATOMIC_ACQUIRE) < r->ranks - 1)
			usleep(POLL_US);
		late(ms);
	}
	communicate(r);
	if (r->plugin)
		r->plugin->finalize(r->context);
	return 0;
}

/* Run this program anew as a rank: the device reads its options when it is loaded. */
static void rank_start(char **argv, int number, int is_late, int memory)
{
	char numbers[2][12];
	char *arguments[8] = {argv[0], argv[1], argv[2], argv[3], argv[4], numbers[0], numbers[1]};

	snprintf(numbers[0], sizeof(numbers[0]), "%d", number);
	snprintf(numbers[1], sizeof(numbers[1]), "%d", memory);
	setenv("SIM_DEVICE", is_late ? SHORT_NS : LONG_NS, 1);
	CHECK(posix_spawn(NULL, argv[0], NULL, NULL, arguments, environ));
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	struct rank r = {.ranks = atoi(argv[1]), .late = atoi(argv[2])};
	const int memory = argc > 6 ? atoi(argv[6]) : memfd_create("begun", 0);
	int status;

	CHECK(ftruncate(memory, sizeof(*r.begun)));
	r.begun = mmap(NULL, sizeof(*r.begun), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (argc > 6) {
		r.number = atoi(argv[5]);
		return rank_run(&r, strcmp(argv[3], "sendrecv") ? reduce : move, atoi(argv[4]));
	}
	for (int i = 0; i < r.ranks; i++)
		rank_start(argv, i, i == r.late, memory);
	while (wait(&status) > 0)
		RIGHT(status == 0);
	return did_end();
}
