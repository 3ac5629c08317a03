/* SPDX-License-Identifier: Apache-2.0 */
/* libcublas_stub.c - a stand-in for cuBLAS: cublasSgemm calls cuBLASLt, as the real one may. */
#include "tests/cuda/library_calls.h"
#include "tests/cuda/library_stub.h"

#define INVALID_VALUE 7 /* CUBLAS_STATUS_INVALID_VALUE */

int cublasCreate_v2(stub_handle *handle)
{
	*handle = handle;
	return 0;
}

int cublasSgemm_v2(stub_handle handle, int transa, int transb, int m, int n, int k,
	const float *alpha, const float *a, int lda, const float *b, int ldb, const float *beta,
	float *c, int ldc)
{
	(void)transa, (void)transb, (void)lda, (void)ldb, (void)ldc;
	if (m < 0 || n < 0 || k < 0)
		return INVALID_VALUE;
	return cublasLtMatmul(
		handle, NULL, alpha, a, NULL, b, NULL, beta, c, NULL, c, NULL, NULL, NULL, 0, NULL);
}

int cublasDgemmStridedBatched(stub_handle handle, int transa, int transb, int m, int n, int k,
	const double *alpha, const double *a, int lda, long long stride_a, const double *b, int ldb,
	long long stride_b, const double *beta, double *c, int ldc, long long stride_c, int batch)
{
	(void)handle, (void)transa, (void)transb, (void)m, (void)n, (void)k, (void)alpha, (void)a,
		(void)lda, (void)stride_a, (void)b, (void)ldb, (void)stride_b, (void)beta, (void)c,
		(void)ldc, (void)stride_c;
	stub_launch(1);
	return batch == 4 ? 0 : INVALID_VALUE;
}

int cublasGemmEx(stub_handle handle, int transa, int transb, int m, int n, int k, const void *alpha,
	const void *a, int a_type, int lda, const void *b, int b_type, int ldb, const void *beta,
	void *c, int c_type, int ldc, int compute, int algorithm)
{
	(void)handle, (void)transa, (void)transb, (void)m, (void)n, (void)k, (void)alpha, (void)a,
		(void)lda, (void)b, (void)b_type, (void)ldb, (void)beta, (void)c, (void)c_type,
		(void)ldc, (void)algorithm;
	stub_launch(2);
	return a_type == 2 && compute == 68 ? 0 : INVALID_VALUE;
}

int cublasCgemm_v2_64(stub_handle handle, int transa, int transb, int64_t m, int64_t n, int64_t k,
	const void *alpha, const void *a, int64_t lda, const void *b, int64_t ldb, const void *beta,
	void *c, int64_t ldc)
{
	(void)handle, (void)transa, (void)transb, (void)m, (void)n, (void)k, (void)alpha, (void)a,
		(void)lda, (void)b, (void)ldb, (void)beta, (void)c, (void)ldc;
	stub_launch(1);
	return 0;
}
