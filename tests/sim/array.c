/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array.c - arrays, as far as they take memory: nothing copies to them or reads them.
 */
#include "tests/sim/driver.h"
#include "impl.h"

static size_t format_bytes(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	default:
		return 0;
	}
}

CUresult impl_cuArray3DCreate_v2(CUarray *ret_array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	size_t elements = d->Width * (d->Height ? d->Height : 1) * (d->Depth ? d->Depth : 1);
	size_t bytes = elements * format_bytes(d->Format) * d->NumChannels;

	if (!driver_context())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_array = (CUarray)memory_take(bytes, MEMORY_ARRAY, NULL, NULL);
	return *ret_array ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult impl_cuArrayCreate_v2(CUarray *ret_array, const CUDA_ARRAY_DESCRIPTOR *d)
{
	const CUDA_ARRAY3D_DESCRIPTOR solid = {.Width = d->Width,
		.Height = d->Height,
		.Format = d->Format,
		.NumChannels = d->NumChannels};

	return impl_cuArray3DCreate_v2(ret_array, &solid);
}

CUresult impl_cuArrayDestroy(CUarray array)
{
	return memory_give_back((uintptr_t)array, false, NULL);
}
