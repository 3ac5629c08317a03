/* SPDX-License-Identifier: Apache-2.0 */
/* libcublasLt_stub.c - a stand-in for cuBLASLt: it launches a kernel. */
#include "tests/cuda/library_calls.h"
#include "tests/cuda/library_stub.h"

int cublasLtMatmul(stub_handle handle, void *matmul, const void *alpha, const void *a,
	void *a_layout, const void *b, void *b_layout, const void *beta, const void *c,
	void *c_layout, void *d, void *d_layout, const void *algorithm, void *workspace,
	size_t workspace_bytes, void *stream)
{
	(void)handle, (void)matmul, (void)alpha, (void)a, (void)a_layout, (void)b, (void)b_layout,
		(void)beta, (void)c, (void)c_layout, (void)d, (void)d_layout, (void)algorithm,
		(void)workspace, (void)stream;
	stub_launch(1);
	return workspace_bytes > 4096 ? 7 : 0;
}
