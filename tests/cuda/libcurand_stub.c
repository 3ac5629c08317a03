/* SPDX-License-Identifier: Apache-2.0 */
/* libcurand_stub.c - a stand-in for cuRAND: it launches a kernel. */
#include "tests/cuda/library_calls.h"
#include "tests/cuda/library_stub.h"

int curandGenerateNormal(
	stub_handle generator, float *output, size_t count, float mean, float deviation)
{
	(void)generator, (void)output, (void)count;
	stub_launch(1);
	return mean < deviation ? 0 : 1;
}
