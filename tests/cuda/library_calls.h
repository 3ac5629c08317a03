/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library_calls.h - functions of CUDA's libraries that the stand-ins (lib*_stub.c) export, by their
 * documented prototypes; handles are pointers, enumerations are int.
 */
#ifndef LIBRARY_CALLS_H
#define LIBRARY_CALLS_H

#include <stddef.h>
#include <stdint.h>

typedef void *stub_handle;
struct stub_id {
	char bytes[128]; /* as ncclUniqueId: passed in memory */
};

int cublasCreate_v2(stub_handle *handle);
int cublasSgemm_v2(stub_handle handle, int transa, int transb, int m, int n, int k,
	const float *alpha, const float *a, int lda, const float *b, int ldb, const float *beta,
	float *c, int ldc);
int cublasDgemmStridedBatched(stub_handle handle, int transa, int transb, int m, int n, int k,
	const double *alpha, const double *a, int lda, long long stride_a, const double *b, int ldb,
	long long stride_b, const double *beta, double *c, int ldc, long long stride_c, int batch);
int cublasGemmEx(stub_handle handle, int transa, int transb, int m, int n, int k, const void *alpha,
	const void *a, int a_type, int lda, const void *b, int b_type, int ldb, const void *beta,
	void *c, int c_type, int ldc, int compute, int algorithm);
int cublasCgemm_v2_64(stub_handle handle, int transa, int transb, int64_t m, int64_t n, int64_t k,
	const void *alpha, const void *a, int64_t lda, const void *b, int64_t ldb, const void *beta,
	void *c, int64_t ldc);
int cublasLtMatmul(stub_handle handle, void *matmul, const void *alpha, const void *a,
	void *a_layout, const void *b, void *b_layout, const void *beta, const void *c,
	void *c_layout, void *d, void *d_layout, const void *algorithm, void *workspace,
	size_t workspace_bytes, void *stream);

int cudnnSetTensor4dDescriptor(
	stub_handle tensor, int format, int type, int n, int c, int h, int w);
int cudnnConvolutionForward(stub_handle handle, const void *alpha, stub_handle x_layout,
	const void *x, stub_handle w_layout, const void *w, stub_handle convolution, int algorithm,
	void *workspace, size_t workspace_bytes, const void *beta, stub_handle y_layout, void *y);

int cufftPlan1d(int *plan, int nx, int type, int batch);
int cufftExecC2C(int plan, void *input, void *output, int direction);

int cusparseCreateCsr(stub_handle *matrix, int64_t rows, int64_t columns, int64_t nonzeros,
	void *offsets, void *indexes, void *values, int offset_type, int index_type, int base,
	int type);
int cusparseSpMV(stub_handle handle, int op, const void *alpha, stub_handle a, stub_handle x,
	const void *beta, stub_handle y, int compute, int algorithm, void *buffer);

int cusolverDnDgetrf(stub_handle handle, int m, int n, double *a, int lda, double *workspace,
	int *pivots, int *info);

int curandGenerateNormal(
	stub_handle generator, float *output, size_t count, float mean, float deviation);

int ncclCommInitRank(stub_handle *comm, int ranks, struct stub_id id, int rank);
int ncclAllReduce(const void *send, void *receive, size_t count, int type, int op, stub_handle comm,
	void *stream);

long cuFileRead(stub_handle file, void *buffer, size_t bytes, long file_offset, long buffer_offset);

#endif
