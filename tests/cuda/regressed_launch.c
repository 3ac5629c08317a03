/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regressed_launch.c - processes items on a device, with a small regression in one stage that
 * `trace diff` has to find (tests/proof/diff.py).
 *
 * Usage: regressed_launch [none | slow | kernel | copy] [ITEMS=60]
 *
 * slow: "solve" gets 3 % more blocks; kernel: "scale" runs once more; copy: the input is copied
 * once more; each once per item.
 */
#include "tests/cuda/did.h"

#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <string.h>

struct did did;

#define BLOCKS 2000u
#define COPY_BYTES (64u << 10)
#define ENTRY(name) ".visible .entry " name "(.param .u64 values) { ret; }\n"

static const char ptx[] =
	"//\n.version 7.0\n.target sm_75\n.address_size 64\n" ENTRY("scale") ENTRY("solve");

struct job {
	CUfunction scale, solve;
	CUdeviceptr values;
	unsigned blocks;
	int scales, copies;
	unsigned char input[COPY_BYTES];
};

static void launch(struct job *j, CUfunction function, unsigned blocks)
{
	void *arguments[] = {&j->values};
	CHECK(cuLaunchKernel(function, blocks, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL));
	DID(kernels, 1);
}

static void work_off(struct job *j)
{
	nvtxRangePushA("item");
	nvtxRangePushA("load");
	for (int i = 0; i < j->copies; i++) {
		CHECK(cuMemcpyHtoD(j->values, j->input, COPY_BYTES));
		DID(copies_htod, 1);
	}
	nvtxRangePop();
	nvtxRangePushA("compute");
	for (int i = 0; i < j->scales; i++)
		launch(j, j->scale, 500);
	launch(j, j->solve, j->blocks);
	nvtxRangePop();
	nvtxRangePushA("save");
	CHECK(cuMemcpyDtoH(j->input, j->values, COPY_BYTES));
	DID(copies_dtoh, 1);
	nvtxRangePop();
	nvtxRangePop();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "none";
	int items = argc > 2 ? atoi(argv[2]) : 60;
	static struct job j;
	CUcontext context;
	CUmodule module;
	j.blocks = BLOCKS + (strcmp(what, "slow") ? 0 : BLOCKS * 3 / 100);
	j.scales = 1 + !strcmp(what, "kernel");
	j.copies = 1 + !strcmp(what, "copy");
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxPushCurrent(context));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&j.scale, module, "scale"));
	CHECK(cuModuleGetFunction(&j.solve, module, "solve"));
	CHECK(cuMemAlloc(&j.values, COPY_BYTES));
	for (int i = 0; i < items; i++)
		work_off(&j);
	return did_end();
}
