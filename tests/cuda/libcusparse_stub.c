/* SPDX-License-Identifier: Apache-2.0 */
/* libcusparse_stub.c - a stand-in for cuSPARSE: it launches a kernel. */
#include "tests/cuda/library_calls.h"
#include "tests/cuda/library_stub.h"

int cusparseCreateCsr(stub_handle *matrix, int64_t rows, int64_t columns, int64_t nonzeros,
	void *offsets, void *indexes, void *values, int offset_type, int index_type, int base,
	int type)
{
	(void)rows, (void)columns, (void)nonzeros, (void)offsets, (void)indexes, (void)values,
		(void)offset_type, (void)index_type, (void)base, (void)type;
	*matrix = matrix;
	return 0;
}

int cusparseSpMV(stub_handle handle, int op, const void *alpha, stub_handle a, stub_handle x,
	const void *beta, stub_handle y, int compute, int algorithm, void *buffer)
{
	(void)handle, (void)op, (void)alpha, (void)a, (void)x, (void)beta, (void)y, (void)compute,
		(void)algorithm, (void)buffer;
	stub_launch(1);
	return 0;
}
