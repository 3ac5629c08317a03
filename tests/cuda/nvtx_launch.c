/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_launch.c - launches a kernel inside NVTX ranges of all kinds.
 *
 * Usage: nvtx_launch [ROUNDS=7]
 */
#include "tests/cuda/did.h"

#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

struct did did;

/* void work::scale<float>(float*, unsigned int): it does nothing */
#define KERNEL "_ZN4work5scaleIfEEvPT_j"
static const char ptx[] = "//\n"
			  ".version 7.0\n"
			  ".target sm_75\n"
			  ".address_size 64\n"
			  ".visible .entry " KERNEL "(.param .u64 values, .param .u32 count)\n"
			  "{\n"
			  "  ret;\n"
			  "}\n";

struct place {
	CUfunction function;
	CUdeviceptr values;
	CUstream stream;
	nvtxDomainHandle_t domain;
};

/* Callchains contain both functions. */
__attribute__((noinline, visibility("default"))) void launch_inner(struct place *p, unsigned grid)
{
	unsigned count = 1;
	void *arguments[] = {&p->values, &count};
	CHECK(cuLaunchKernel(p->function, grid, 1, 1, 32, 1, 1, 0, p->stream, arguments, NULL));
	DID(kernels, 1);
	__asm__ volatile("");
}

__attribute__((noinline, visibility("default"))) void launch_outer(struct place *p, unsigned grid)
{
	launch_inner(p, grid);
	__asm__ volatile("");
}

/* Return the attributes of a range, with a payload whose type changes with `number`. */
static nvtxEventAttributes_t attributes_of(const char *text, uint32_t color, int number)
{
	nvtxEventAttributes_t a = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
	a.category = 7;
	a.colorType = color ? NVTX_COLOR_ARGB : NVTX_COLOR_UNKNOWN;
	a.color = color;
	a.messageType = NVTX_MESSAGE_TYPE_ASCII;
	a.message.ascii = text;
	switch (a.payloadType = number % 7) {
	case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
		a.payload.ullValue = 1ull << 63;
		break;
	case NVTX_PAYLOAD_TYPE_INT64:
		a.payload.llValue = -5;
		break;
	case NVTX_PAYLOAD_TYPE_DOUBLE:
		a.payload.dValue = 0.25;
		break;
	case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
		a.payload.uiValue = 1u << 31;
		break;
	case NVTX_PAYLOAD_TYPE_INT32:
		a.payload.iValue = -6;
		break;
	case NVTX_PAYLOAD_TYPE_FLOAT:
		a.payload.fValue = -0.5f;
		break;
	}
	return a;
}

static void *other_thread(void *user)
{
	struct place *p = user;
	nvtxRangePushA("of another thread");
	launch_outer(p, 2);
	nvtxRangePop();
	return NULL;
}

static void round_of_launches(struct place *p, int number)
{
	nvtxEventAttributes_t step = attributes_of("step", 0xff00ff00, number),
			      span = attributes_of("span", 0, number + 1);
	pthread_t thread;
	launch_outer(p, 1);
	nvtxRangePushEx(&step);
	nvtxRangePushA("inner");
	launch_outer(p, 3);
	nvtxRangeId_t id = nvtxDomainRangeStartEx(p->domain, &span);
	nvtxDomainRangePushEx(p->domain, &span);
	pthread_create(&thread, NULL, other_thread, p);
	pthread_join(thread, NULL);
	nvtxRangePop();
	launch_outer(p, 4);
	nvtxDomainRangePop(p->domain);
	nvtxDomainRangeEnd(p->domain, id);
	nvtxRangePop();
	launch_outer(p, 5);
	nvtxDomainRangePushEx(p->domain, &step);
	launch_outer(p, 6);
	nvtxDomainRangePop(p->domain);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 7;
	struct place p = {.domain = nvtxDomainCreateA("a domain")};
	CUcontext context;
	CUmodule module;
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxPushCurrent(context));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&p.function, module, KERNEL));
	CHECK(cuStreamCreate(&p.stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&p.values, 64));
	for (int i = 0; i < rounds; i++)
		round_of_launches(&p, i);
	CHECK(cuStreamSynchronize(p.stream));
	DID(syncs, 1);
	return did_end();
}
