/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forked.c - NVTX in a forked child: the open ranges were its parent's, and nobody holds a lock.
 */
#include "tracer/nvtx/hooks.h"
#include "tracer/nvtx/schemas.h"
#include "tracer/nvtx/spans.h"

void nvtx_forked(void)
{
	schemas_forked();
	spans_forked();
}
