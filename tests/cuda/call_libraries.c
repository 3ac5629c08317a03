/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_libraries.c - calls functions of CUDA's libraries, which are stand-ins here (lib*_stub.c):
 * multiplications of several shapes, and a few of each other library.
 *
 * Usage: call_libraries
 */
#include "tests/cuda/did.h"
#include "tests/cuda/library_calls.h"

#include <cuda.h>

struct did did;

static void cublas_call(void)
{
	stub_handle handle;
	float one = 1;
	double two = 2;
	RIGHT(cublasCreate_v2(&handle) == 0);
	for (int i = 0; i < 3; i++)
		RIGHT(cublasSgemm_v2(handle, 0, 1, 128, 256, 64, &one, NULL, 128, NULL, 64, &one,
			      NULL, 128) == 0);
	RIGHT(cublasSgemm_v2(
		      handle, 0, 1, -1, 256, 64, &one, NULL, 128, NULL, 64, &one, NULL, 128) == 7);
	RIGHT(cublasDgemmStridedBatched(handle, 0, 0, 16, 32, 8, &two, NULL, 16, 128, NULL, 8, 256,
		      &two, NULL, 16, 512, 4) == 0);
	for (int i = 0; i < 2; i++)
		RIGHT(cublasGemmEx(handle, 0, 0, 512, 512, 1024, &one, NULL, 2, 512, NULL, 2, 1024,
			      &one, NULL, 2, 512, 68, -1) == 0);
	RIGHT(cublasCgemm_v2_64(handle, 0, 0, 10, 20, INT64_C(5000000000), &one, NULL, 10, NULL, 20,
		      &one, NULL, 10) == 0);
	RIGHT(cublasLtMatmul(handle, NULL, &one, NULL, NULL, NULL, NULL, &one, NULL, NULL, NULL,
		      NULL, NULL, NULL, 1024, NULL) == 0);
	DID(kernels, 3 + 1 + 2 * 2 + 1 + 1);
}

static void others_call(void)
{
	stub_handle handle = &did, matrix, comm;
	struct stub_id id = {.bytes = {[127] = 5}};
	float one = 1;
	int plan;
	RIGHT(cudnnSetTensor4dDescriptor(handle, 0, 2, 8, 3, 224, 225) == 0);
	RIGHT(cudnnConvolutionForward(handle, &one, handle, NULL, handle, NULL, handle, 6, NULL,
		      4096, &one, handle, NULL) == 0);
	RIGHT(cufftPlan1d(&plan, 4096, 0x29, 2) == 0 && cufftExecC2C(plan, NULL, NULL, -1) == 0);
	RIGHT(cusparseCreateCsr(&matrix, 100, 200, 300, NULL, NULL, NULL, 2, 2, 0, 1) == 0);
	RIGHT(cusparseSpMV(handle, 0, &one, matrix, NULL, &one, NULL, 0, 1, NULL) == 0);
	RIGHT(cusolverDnDgetrf(handle, 40, 50, NULL, 40, NULL, NULL, NULL) == 0);
	RIGHT(curandGenerateNormal(handle, NULL, 1000, 0.5f, 1.5f) == 0);
	RIGHT(ncclCommInitRank(&comm, 4, id, 3) == 0);
	RIGHT(ncclAllReduce(NULL, NULL, 1 << 20, 7, 0, comm, NULL) == 0);
	RIGHT(cuFileRead(handle, NULL, 65536, 4096, 0) == 65536);
	DID(kernels, 2 + 1 + 1 + 1 + 1 + 1);
}

int main(void)
{
	cublas_call();
	others_call();
	CHECK(cuCtxSynchronize());
	DID(syncs, 1);
	return did_end();
}
