/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
/* libnvtx_early.c - a library that uses NVTX from its constructor, before the tracer's has run. */
#include <nvtx3/nvToolsExt.h>

int nvtx_early_push(void);

__attribute__((constructor)) static void early(void)
{
	nvtxMarkA("from a constructor");
}

int nvtx_early_push(void)
{
	int level = nvtxRangePushA("from a library");
	nvtxRangePop();
	return level;
}
